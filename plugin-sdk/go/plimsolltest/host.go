//go:build !wasip1

package plimsolltest

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"time"

	"github.com/plimsoll/plimsoll/plugin-sdk/go/internal/bridge"
	"github.com/plimsoll/plimsoll/plugin-sdk/go/plimsoll"
)

// host answers the reads of one call.
type host struct {
	pod *pod
	// Those of the request.
	nodes []*node
	// All nodes; nil where there is no view of the cluster.
	cluster    []*node
	candidates []candidateIndices
	now        int64
	// The labels of each namespace that is known.
	namespaces map[string]map[string]string
	// The texts of each source by key.
	facts map[string]map[string]string
}

// candidateIndices is a candidate with its victims as indices.
type candidateIndices struct {
	victims       []uint32
	pdbViolations uint32
}

func newHost(world World, nodes []Node) *host {
	own := &host{pod: newPod(world.Pod), now: max(world.Now.Unix(), 0), facts: world.Facts}
	for _, from := range nodes {
		own.nodes = append(own.nodes, newNode(from, own.pod, world.WithoutPods))
	}
	if !world.WithoutCluster && !world.WithoutPods {
		own.namespaces = world.Namespaces
		own.cluster = []*node{}
		for _, from := range world.Nodes {
			own.cluster = append(own.cluster, newNode(from, own.pod, false))
		}
	}
	return own
}

func (h *host) find(name string) plimsoll.Node {
	for _, node := range nodesOf(h).All() {
		if node.Name() == name {
			return node
		}
	}
	panic(fmt.Sprintf("the test asks about the node %q; there is no such node", name))
}

func at[T any](what string, items []T, index uint32) T {
	if int(index) >= len(items) {
		panic(fmt.Sprintf("there is no %s %d; the request has %d", what, index, len(items)))
	}
	return items[index]
}

func (h *host) node(index uint32) *node {
	return at("node", h.nodes, index)
}

func (h *host) placed(node, pod uint32) *pod {
	return at("placed pod", h.node(node).pods, pod)
}

func optional[V any](from map[string]V, key string) (V, bool) {
	value, ok := from[key]
	return value, ok
}

func text(value string) (string, bool) {
	return value, value != ""
}

func owner(from *plimsoll.Owner) (plimsoll.Owner, bool) {
	if from == nil {
		return plimsoll.Owner{}, false
	}
	return *from, true
}

func created(at time.Time) uint64 {
	return uint64(max(at.Unix(), 0))
}

// sum adds up amounts, and stops at the largest.
func sum(own, more int64) int64 {
	if more > 0 && own > math.MaxInt64-more {
		return math.MaxInt64
	}
	return own + more
}

func labelled(node *node, namespace, key, value string) (own []*pod) {
	for _, pod := range node.pods {
		if label, ok := pod.Labels[key]; ok && label == value && pod.namespace == namespace {
			own = append(own, pod)
		}
	}
	return own
}

func active(node *node, namespace, key, value string) (count uint32) {
	for _, pod := range labelled(node, namespace, key, value) {
		if !pod.Terminating {
			count++
		}
	}
	return count
}

func (h *host) PodName() string      { return h.pod.Name }
func (h *host) PodNamespace() string { return h.pod.namespace }
func (h *host) PodUID() string       { return h.pod.UID }
func (h *host) PodPriority() int32   { return h.pod.Priority }
func (h *host) PodCreated() uint64   { return created(h.pod.Created) }

func (h *host) PodLabel(key string) (string, bool)      { return optional(h.pod.Labels, key) }
func (h *host) PodAnnotation(key string) (string, bool) { return optional(h.pod.Annotations, key) }
func (h *host) PodPriorityClass() (string, bool)        { return text(h.pod.PriorityClass) }
func (h *host) PodController() (plimsoll.Owner, bool)   { return owner(h.pod.Controller) }
func (h *host) PodNamespaceLabel(key string) (string, bool) {
	return optional(h.namespaces[h.pod.namespace], key)
}

func (h *host) PodNamespaceKnown() bool {
	_, known := h.namespaces[h.pod.namespace]
	return known
}

func (h *host) PodRequest(name string) int64           { return h.pod.requests[name] }
func (h *host) PodField(pointer string) (string, bool) { return atPointer(h.pod.json(), pointer) }

func (h *host) PodImages() []string {
	images := []string{}
	for _, image := range h.pod.Images {
		if image = normalized(image); !slices.Contains(images, image) {
			images = append(images, image)
		}
	}
	return images
}

func (h *host) NodesCount() uint32           { return uint32(len(h.nodes)) }
func (h *host) NodesName(node uint32) string { return h.node(node).Name }

func (h *host) NodesLabel(node uint32, key string) (string, bool) {
	return optional(h.node(node).Labels, key)
}

func (h *host) NodesByLabel(key string) plimsoll.Groups {
	values, groups := []string{}, make([]uint32, len(h.nodes))
	for at, node := range h.nodes {
		value, ok := node.Labels[key]
		if !ok {
			groups[at] = math.MaxUint32
			continue
		}
		group := slices.Index(values, value)
		if group < 0 {
			group = len(values)
			values = append(values, value)
		}
		groups[at] = uint32(group)
	}
	for at := range groups {
		groups[at] = min(groups[at], uint32(len(values)))
	}
	return bridge.NewGroups(values, groups).(plimsoll.Groups)
}

func (h *host) NodesAnnotation(node uint32, key string) (string, bool) {
	return optional(h.node(node).Annotations, key)
}

func (h *host) NodesTaints(node uint32) []plimsoll.Taint {
	return h.node(node).Taints
}

func (h *host) NodesAllocatable(node uint32, name string) int64 {
	return h.node(node).allocatable[name]
}

func (h *host) NodesResourceKnown(node uint32, name string) bool {
	return !slices.Contains(h.node(node).ResourcesUnknown, name)
}

func (h *host) NodesCapacity(node uint32, name string) int64 {
	return h.node(node).capacity[name]
}

func (h *host) NodesCondition(node uint32, kind string) (string, bool) {
	return optional(h.node(node).Conditions, kind)
}

func (h *host) NodesUnschedulable(node uint32) bool {
	return h.node(node).Unschedulable
}

func (h *host) NodesRequested(node uint32, name string) (int64, bool) {
	own := h.node(node)
	if !own.isKnown {
		return 0, false
	}
	var total int64
	for _, pod := range own.pods {
		total = sum(total, pod.requests[name])
	}
	return total, true
}

func (h *host) NodesImageSize(node uint32, image string) (uint64, bool) {
	return optional(h.node(node).images, normalized(image))
}

func (h *host) NodesField(node uint32, pointer string) (string, bool) {
	return atPointer(h.node(node).json(), pointer)
}

func (h *host) FactsText(source, key string) (string, bool) {
	own, ok := h.facts[source]
	if !ok {
		panic(fmt.Sprintf("the policy reads the source of facts %q, which the world does not have", source))
	}
	return optional(own, key)
}

func (h *host) FactsNumber(source, key string) (float64, bool) {
	text, _ := h.FactsText(source, key)
	return numeric(text)
}

func (h *host) FactsNodeText(node uint32, source string) (string, bool) {
	own := h.node(node)
	for _, key := range append([]string{own.Name}, own.Addresses...) {
		if text, ok := h.FactsText(source, key); ok {
			return text, true
		}
	}
	return "", false
}

func (h *host) FactsNodeNumber(node uint32, source string) (float64, bool) {
	text, _ := h.FactsNodeText(node, source)
	return numeric(text)
}

func numeric(text string) (float64, bool) {
	number, err := strconv.ParseFloat(text, 64)
	return number, err == nil && !math.IsNaN(number) && !math.IsInf(number, 0)
}

func (h *host) PlacedKnown(node uint32) bool   { return h.node(node).isKnown }
func (h *host) PlacedCount(node uint32) uint32 { return uint32(len(h.node(node).pods)) }

func (h *host) PlacedName(node, pod uint32) string      { return h.placed(node, pod).Name }
func (h *host) PlacedNamespace(node, pod uint32) string { return h.placed(node, pod).namespace }
func (h *host) PlacedPriority(node, pod uint32) int32   { return h.placed(node, pod).Priority }
func (h *host) PlacedCreated(node, pod uint32) uint64   { return created(h.placed(node, pod).Created) }

func (h *host) PlacedLabel(node, pod uint32, key string) (string, bool) {
	return optional(h.placed(node, pod).Labels, key)
}

func (h *host) PlacedAnnotation(node, pod uint32, key string) (string, bool) {
	return optional(h.placed(node, pod).Annotations, key)
}

func (h *host) PlacedPriorityClass(node, pod uint32) (string, bool) {
	return text(h.placed(node, pod).PriorityClass)
}

func (h *host) PlacedController(node, pod uint32) (plimsoll.Owner, bool) {
	return owner(h.placed(node, pod).Controller)
}

func (h *host) PlacedPhase(node, pod uint32) (string, bool) {
	phase := h.placed(node, pod).Phase
	return phase, slices.Contains([]string{"Pending", "Running", "Unknown"}, phase)
}

func (h *host) PlacedTerminating(node, pod uint32) bool { return h.placed(node, pod).Terminating }

func (h *host) PlacedRequest(node, pod uint32, name string) int64 {
	return h.placed(node, pod).requests[name]
}

func (h *host) PlacedCountLabelled(node uint32, namespace, key, value string) uint32 {
	return uint32(len(labelled(h.node(node), namespace, key, value)))
}

func (h *host) PlacedCountsLabelled(namespace, key, value string) []uint32 {
	counts := make([]uint32, len(h.nodes))
	for at, node := range h.nodes {
		counts[at] = uint32(len(labelled(node, namespace, key, value)))
	}
	return counts
}

func (h *host) PlacedCountActive(node uint32, namespace, key, value string) uint32 {
	return active(h.node(node), namespace, key, value)
}

func (h *host) PlacedCountsActive(namespace, key, value string) []uint32 {
	counts := make([]uint32, len(h.nodes))
	for at, node := range h.nodes {
		counts[at] = active(node, namespace, key, value)
	}
	return counts
}

func (h *host) CandidatesCount() uint32 { return uint32(len(h.candidates)) }

func (h *host) CandidatesNode(candidate uint32) uint32 {
	at("candidate", h.candidates, candidate)
	return candidate
}

func (h *host) CandidatesVictims(candidate uint32) []uint32 {
	return at("candidate", h.candidates, candidate).victims
}

func (h *host) CandidatesPDBViolations(candidate uint32) uint32 {
	return at("candidate", h.candidates, candidate).pdbViolations
}

// HostSettings is not asked: a test's policy has its settings already.
func (h *host) HostSettings() string { return "null" }

func (h *host) HostNow(granularity uint32) uint64 {
	return uint64(h.now - h.now%int64(max(granularity, 1)))
}
