//go:build !wasip1

package plimsolltest

import (
	"fmt"

	"github.com/plimsoll/plimsoll/plugin-sdk/go/plimsoll"
)

// maxLabelValues is how many values of a label the gateway lists.
const maxLabelValues = 1000

// matching are the pods of the cluster that a selector matches; none where there is no view of it.
func (h *host) matching(selector plimsoll.Selector) (pods []*pod, ok bool) {
	has := func(entries map[string]string, pair plimsoll.Pair) bool {
		value, ok := entries[pair.Key]
		return pair == plimsoll.Pair{} || ok && value == pair.Value
	}
	for _, node := range h.cluster {
		for _, pod := range node.pods {
			isOwn := pod.namespace == h.pod.namespace && pod.Name == h.pod.Name
			inNamespace := selector.Namespace == "" || selector.Namespace == pod.namespace
			if !isOwn && inNamespace && has(pod.Labels, selector.Label) && has(pod.Annotations, selector.Annotation) &&
				has(node.Labels, selector.NodeLabel) {
				pods = append(pods, pod)
			}
		}
	}
	return pods, h.cluster != nil
}

func (h *host) ClusterCount(selector plimsoll.Selector) (uint64, bool) {
	pods, ok := h.matching(selector)
	return uint64(len(pods)), ok
}

func (h *host) ClusterCountUpTo(selector plimsoll.Selector, n uint64) (uint64, bool) {
	count, ok := h.ClusterCount(selector)
	return min(count, n), ok
}

func (h *host) ClusterAtLeast(selector plimsoll.Selector, n uint64) (bool, bool) {
	count, ok := h.ClusterCount(selector)
	return ok && count >= n, ok
}

func (h *host) ClusterRequested(selector plimsoll.Selector, name string) (int64, bool) {
	pods, ok := h.matching(selector)
	var total int64
	for _, pod := range pods {
		total = sum(total, pod.requests[name])
	}
	return total, ok
}

func (h *host) ClusterNodesWithLabel(key, value string) (count uint32, ok bool) {
	for _, node := range h.cluster {
		if own, ok := node.Labels[key]; ok && own == value {
			count++
		}
	}
	return count, h.cluster != nil
}

func (h *host) ClusterLabelValues(key string) ([]plimsoll.LabelCount, bool) {
	if h.cluster == nil {
		return nil, false
	}
	counts := map[string]uint32{}
	for _, node := range h.cluster {
		if value, ok := node.Labels[key]; ok {
			counts[value]++
		}
	}
	if len(counts) > maxLabelValues {
		panic(fmt.Sprintf("the nodes' label has more than %d values; cluster.label-values lists at most that many", maxLabelValues))
	}
	values := []plimsoll.LabelCount{}
	for _, value := range sortedKeys(counts) {
		values = append(values, plimsoll.LabelCount{Value: value, Nodes: counts[value]})
	}
	return values, true
}
