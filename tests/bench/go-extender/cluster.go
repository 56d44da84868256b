package main

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/component-helpers/resource"
)

// cluster is what a snapshot file shows.
type cluster struct {
	nodes map[string]*node
}

// node is a node as the rules ask about it.
type node struct {
	name        string
	labels      map[string]string
	annotations map[string]string
	status      *v1.NodeStatus
	placed      []*placedPod
	// images by normalized name; made when it is first asked for in full-node mode, at the start otherwise.
	images map[string]int64
	// derived has what each rule of the chain worked out from the node alone.
	derived []any
}

// placedPod is a pod that is bound to a node.
type placedPod struct {
	namespace   string
	labels      map[string]string
	annotations map[string]string
	requests    v1.ResourceList
}

// pod is the pod to be placed.
type pod struct {
	namespace   string
	labels      map[string]string
	annotations map[string]string
	requests    v1.ResourceList
	images      []string
}

func newPod(p *v1.Pod) *pod {
	q := &pod{
		namespace:   p.Namespace,
		labels:      p.Labels,
		annotations: p.Annotations,
		requests:    resource.PodRequests(p, resource.PodResourcesOptions{}),
	}
	seen := map[string]bool{}
	add := func(containers []v1.Container) {
		for i := range containers {
			if image := normalizedImage(containers[i].Image); containers[i].Image != "" && !seen[image] {
				seen[image] = true
				q.images = append(q.images, image)
			}
		}
	}
	add(p.Spec.InitContainers)
	add(p.Spec.Containers)
	return q
}

// newNode returns the node with what the rules derive from it; placed are the pods bound to it.
func (c chain) newNode(n *v1.Node, placed []*placedPod) *node {
	own := &node{
		name:        n.Name,
		labels:      n.Labels,
		annotations: n.Annotations,
		status:      &n.Status,
		placed:      placed,
		derived:     make([]any, len(c)),
	}
	for i := range c {
		if rule, ok := c[i].rule.(deriver); ok {
			own.derived[i] = rule.derive(own)
		}
	}
	return own
}

// imageSize returns the bytes of a pulled image.
func (n *node) imageSize(normalized string) (int64, bool) {
	if n.images == nil {
		n.images = imagesOf(n.status)
	}
	size, ok := n.images[normalized]
	return size, ok
}

func imagesOf(status *v1.NodeStatus) map[string]int64 {
	images := make(map[string]int64, 2*len(status.Images))
	for i := range status.Images {
		for _, name := range status.Images[i].Names {
			images[normalizedImage(name)] = status.Images[i].SizeBytes
		}
	}
	return images
}

// normalizedImage is kube-scheduler's own rule: a name without tag or digest is the latest.
func normalizedImage(name string) string {
	if strings.LastIndex(name, ":") <= strings.LastIndex(name, "/") {
		name += ":latest"
	}
	return name
}

// readSnapshot reads a list of nodes and pods; without a file there is no node.
func readSnapshot(file string, rules chain) (*cluster, error) {
	c := &cluster{nodes: map[string]*node{}}
	if file == "" {
		return c, nil
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	var list struct{ Items []json.RawMessage }
	if err := json.Unmarshal(text, &list); err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	var nodes []*v1.Node
	placed := map[string][]*placedPod{}
	for _, item := range list.Items {
		var kind metav1.TypeMeta
		if err := json.Unmarshal(item, &kind); err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		switch kind.Kind {
		case "Node":
			n := new(v1.Node)
			if err := json.Unmarshal(item, n); err != nil {
				return nil, fmt.Errorf("%s: %w", file, err)
			}
			nodes = append(nodes, n)
		case "Pod":
			p := new(v1.Pod)
			if err := json.Unmarshal(item, p); err != nil {
				return nil, fmt.Errorf("%s: %w", file, err)
			}
			if p.Spec.NodeName != "" && p.Status.Phase != v1.PodSucceeded && p.Status.Phase != v1.PodFailed {
				placed[p.Spec.NodeName] = append(placed[p.Spec.NodeName], newPlacedPod(p))
			}
		}
	}
	for _, n := range nodes {
		own := rules.newNode(n, placed[n.Name])
		own.images = imagesOf(&n.Status)
		own.status = nil
		c.nodes[n.Name] = own
	}
	return c, nil
}

func newPlacedPod(p *v1.Pod) *placedPod {
	return &placedPod{
		namespace:   p.Namespace,
		labels:      p.Labels,
		annotations: p.Annotations,
		requests:    resource.PodRequests(p, resource.PodResourcesOptions{}),
	}
}
