//go:build !wasip1

package plimsolltest

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/plimsoll/plimsoll/plugin-sdk/go/plimsoll"
)

// Resources are amounts by name, written as in Kubernetes: {"cpu": "500m", "memory": "4Gi"}.
type Resources map[string]string

// Pod is the pod to schedule, or one that is placed.
type Pod struct {
	Name string
	// If it is empty, `default`.
	Namespace     string
	UID           string
	Labels        map[string]string
	Annotations   map[string]string
	Priority      int32
	PriorityClass string
	// The owner that controls it.
	Controller *plimsoll.Owner
	// The zero value is a time that is unknown.
	Created time.Time
	// The requests of the whole pod.
	Requests Resources
	Images   []string
	// A pod that is `Succeeded` or `Failed` is not placed any more.
	Phase string
	// Whether it has a `metadata.deletionTimestamp`.
	Terminating bool
	// The other fields of the object, as JSON, for policies that read fields.
	Object string
}

// Node is a node with the pods placed on it.
type Node struct {
	Name        string
	Labels      map[string]string
	Annotations map[string]string
	Taints      []plimsoll.Taint
	Allocatable Resources
	Capacity    Resources
	// The status of each condition: {"Ready": "True"}.
	Conditions    map[string]string
	Unschedulable bool
	// Its IP addresses and host names, by which facts may know it.
	Addresses []string
	// The bytes of each image that it has pulled.
	Images map[string]uint64
	// The pods placed on it.
	Pods []Pod
	// Whether it may have other pods as well, which the gateway does not know.
	PodsUnknown bool
	// The resources that a DeviceClass provides on it: how much it has of them is not known.
	ResourcesUnknown []string
	// The other fields of the object, as JSON, for policies that read fields.
	Object string
}

// pod is a pod as the reads need it.
type pod struct {
	Pod
	namespace string
	requests  map[string]int64
}

// node is a node as the reads need it.
type node struct {
	Node
	allocatable, capacity map[string]int64
	images                map[string]uint64
	pods                  []*pod
	isKnown               bool
}

func newPod(from Pod) *pod {
	namespace := from.Namespace
	if namespace == "" {
		namespace = "default"
	}
	return &pod{from, namespace, amounts("the pod "+from.Name, from.Requests)}
}

// newNode has the pods that run on the node, from the oldest to the newest. The pod to schedule does not stand in its
// own way.
func newNode(from Node, asked *pod, withoutPods bool) *node {
	what := "the node " + from.Name
	own := &node{Node: from, isKnown: !from.PodsUnknown && !withoutPods, images: map[string]uint64{}}
	own.allocatable, own.capacity = amounts(what, from.Allocatable), amounts(what, from.Capacity)
	for image, size := range from.Images {
		own.images[normalized(image)] = size
	}
	for _, placed := range from.Pods {
		pod := newPod(placed)
		isAsked := asked.Name != "" && pod.Name == asked.Name && pod.namespace == asked.namespace
		if !withoutPods && !isAsked && placed.Phase != "Succeeded" && placed.Phase != "Failed" {
			own.pods = append(own.pods, pod)
		}
	}
	slices.SortStableFunc(own.pods, func(a, b *pod) int {
		return cmp.Or(cmp.Compare(created(a.Created), created(b.Created)), cmp.Compare(a.namespace, b.namespace), cmp.Compare(a.Name, b.Name))
	})
	return own
}

// amounts are cpu in millicores, and all else in base units.
func amounts(what string, resources Resources) map[string]int64 {
	amounts := map[string]int64{}
	for name, text := range resources {
		quantity, err := plimsoll.ParseQuantity(text)
		if err != nil {
			panic(fmt.Sprintf("%s, %s: %s", what, name, err))
		}
		amounts[name] = quantity.Value()
		if name == "cpu" {
			amounts[name] = quantity.Millis()
		}
	}
	return amounts
}

// normalized adds `:latest` to the name of an image that has neither tag nor digest.
// Source: `normalizedImageName` in pkg/scheduler/framework/plugins/imagelocality.
func normalized(image string) string {
	if strings.LastIndex(image, ":") > strings.LastIndex(image, "/") {
		return image
	}
	return image + ":latest"
}

type object = map[string]any

// json is the whole object.
func (p *pod) json() any {
	metadata := object{"name": p.Name, "namespace": p.namespace}
	add(metadata, "uid", p.UID)
	addMap(metadata, p.Labels, p.Annotations)
	if !p.Created.IsZero() {
		metadata["creationTimestamp"] = p.Created.UTC().Format(time.RFC3339)
	}
	if own := p.Controller; own != nil {
		metadata["ownerReferences"] = []any{object{
			"apiVersion": own.APIVersion, "kind": own.Kind, "name": own.Name, "uid": own.UID, "controller": true,
		}}
	}
	containers := []any{}
	if len(p.Requests) > 0 {
		containers = append(containers, object{"resources": object{"requests": p.Requests}})
	}
	for _, image := range p.Images {
		containers = append(containers, object{"image": image})
	}
	spec := object{"containers": containers}
	if p.Priority != 0 {
		spec["priority"] = p.Priority
	}
	add(spec, "priorityClassName", p.PriorityClass)
	all := object{"metadata": metadata, "spec": spec}
	if p.Phase != "" {
		all["status"] = object{"phase": p.Phase}
	}
	return merged("the pod "+p.Name, p.Object, all)
}

// json is the whole object, without what a heartbeat changes.
func (n *node) json() any {
	metadata := object{"name": n.Name}
	addMap(metadata, n.Labels, n.Annotations)
	spec, status := object{}, object{}
	var taints, conditions, images, addresses []any
	for _, address := range n.Addresses {
		addresses = append(addresses, object{"type": "InternalIP", "address": address})
	}
	for _, taint := range n.Taints {
		taints = append(taints, object{"key": taint.Key, "value": taint.Value, "effect": taint.Effect})
	}
	for _, kind := range sortedKeys(n.Conditions) {
		conditions = append(conditions, object{"type": kind, "status": n.Conditions[kind]})
	}
	for _, image := range sortedKeys(n.Images) {
		images = append(images, object{"names": []any{image}, "sizeBytes": n.Images[image]})
	}
	for _, list := range []struct {
		of    object
		key   string
		items []any
	}{{spec, "taints", taints}, {status, "conditions", conditions}, {status, "images", images}, {status, "addresses", addresses}} {
		if list.items != nil {
			list.of[list.key] = list.items
		}
	}
	if n.Unschedulable {
		spec["unschedulable"] = true
	}
	for key, resources := range map[string]Resources{"allocatable": n.Allocatable, "capacity": n.Capacity} {
		if resources != nil {
			status[key] = resources
		}
	}
	all := merged("the node "+n.Name, n.Object, object{"metadata": metadata, "spec": spec, "status": status})
	steady(all)
	return all
}

func add(to object, key, value string) {
	if value != "" {
		to[key] = value
	}
}

func addMap(metadata object, labels, annotations map[string]string) {
	if labels != nil {
		metadata["labels"] = labels
	}
	if annotations != nil {
		metadata["annotations"] = annotations
	}
}

// merged is the object of a test with what its fields say.
func merged(what, text string, own object) object {
	// Through JSON, so that both consist of the same types.
	plain := object{}
	parse(what, marshal(own), &plain)
	if text == "" {
		return plain
	}
	all := object{}
	parse(what, text, &all)
	mergeInto(all, plain)
	return all
}

func mergeInto(all, own object) {
	for key, value := range own {
		inner, isObject := value.(object)
		if outer, ok := all[key].(object); ok && isObject {
			mergeInto(outer, inner)
		} else {
			all[key] = value
		}
	}
}

// steady takes away what no policy can read of a node.
func steady(all object) {
	delete(all, "kind")
	delete(all, "apiVersion")
	if metadata, ok := all["metadata"].(object); ok {
		delete(metadata, "managedFields")
		delete(metadata, "resourceVersion")
	}
	status, _ := all["status"].(object)
	conditions, _ := status["conditions"].([]any)
	for _, condition := range conditions {
		if condition, ok := condition.(object); ok {
			delete(condition, "lastHeartbeatTime")
		}
	}
}

// atPointer is the JSON text at an RFC 6901 pointer.
func atPointer(value any, pointer string) (string, bool) {
	if pointer == "" {
		return marshal(value), true
	}
	rest, ok := strings.CutPrefix(pointer, "/")
	if !ok {
		return "", false
	}
	for token := range strings.SplitSeq(rest, "/") {
		token = strings.ReplaceAll(strings.ReplaceAll(token, "~1", "/"), "~0", "~")
		switch own := value.(type) {
		case object:
			if value, ok = own[token]; !ok {
				return "", false
			}
		case []any:
			at, err := strconv.Atoi(token)
			if err != nil || strconv.Itoa(at) != token || at < 0 || at >= len(own) {
				return "", false
			}
			value = own[at]
		default:
			return "", false
		}
	}
	return marshal(value), true
}

func parse(what, text string, into *object) {
	decoder := json.NewDecoder(strings.NewReader(text))
	// Numbers keep their text.
	decoder.UseNumber()
	if err := decoder.Decode(into); err != nil {
		panic(fmt.Sprintf("%s: its object is no JSON object: %s", what, err))
	}
}

func marshal(value any) string {
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil {
		panic(err)
	}
	return strings.TrimSpace(text.String())
}

func sortedKeys[V any](from map[string]V) []string {
	keys := make([]string, 0, len(from))
	for key := range from {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	return keys
}
