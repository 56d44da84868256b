// Command oracle prints generated pods and nodes, with what Kubernetes' own code says about them: one JSON line for a
// node, its pods and a pod that waits. Its arguments are a seed and the number of lines; or `fields`: see fields.go.
//
// PodRequests, the arithmetic of quantities, PodPriority and GetControllerOf are Kubernetes' own. The
// rest is restated from k8s.io/kubernetes/pkg/scheduler, which is too large to be built for each version: the options of
// PodRequests and the units of resources (framework/types.go), the pods that count (scheduler.go) and the images of a
// node (backend/cache/cache.go).
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"os"
	"reflect"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"

	"gopkg.in/inf.v0"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	resourcehelper "k8s.io/component-helpers/resource"
	"k8s.io/component-helpers/scheduling/corev1"
)

// What a policy should read: Of is the name of the placed pod, Name that of the resource or image.
type read struct{ Field, Of, Name, Value string }

// An amount above the largest int64, where kube-scheduler's own number is arbitrary.
const tooLarge = "too large"

type world struct {
	Node   v1.Node  `json:"node"`
	Pod    v1.Pod   `json:"pod"`
	Placed []v1.Pod `json:"placed"`
}

func main() {
	if os.Args[1] == "fields" {
		printFields()
		return
	}
	seed, err := strconv.ParseUint(os.Args[1], 10, 64)
	check(err)
	count, err := strconv.Atoi(os.Args[2])
	check(err)
	out := bufio.NewWriter(os.Stdout)
	defer out.Flush()
	encoder := json.NewEncoder(out)
	check(encoder.Encode(kubernetes()))
	g := generator{rand.New(rand.NewPCG(seed, 0))}
	for range count {
		written := object{"node": g.node(), "pod": g.pod("waiting")}
		var placed []any
		for at := range g.IntN(4) {
			pod := g.pod(fmt.Sprint("p", at))
			pod["spec"].(object)["nodeName"] = "n"
			placed = append(placed, pod)
		}
		written["placed"] = placed
		text, err := json.Marshal(written)
		check(err)
		var stored world
		check(json.Unmarshal(text, &stored))
		eachList(reflect.ValueOf(&stored), roundUp)
		// PodRequests may add a pod's overhead to its own pod-level requests.
		text, err = json.Marshal(stored)
		check(err)
		check(encoder.Encode(object{"written": written, "stored": json.RawMessage(text), "reads": stored.reads()}))
	}
}

func kubernetes() string {
	info, _ := debug.ReadBuildInfo()
	for _, module := range info.Deps {
		if module.Path == "k8s.io/component-helpers" {
			return strings.Replace(module.Version, "v0.", "1.", 1)
		}
	}
	panic("no k8s.io/component-helpers")
}

func (w *world) reads() (reads []read) {
	add := func(field, of, name string, value any) {
		reads = append(reads, read{field, of, name, fmt.Sprint(value)})
	}
	var options resourcehelper.PodResourcesOptions
	add("pod.priority", "", "", corev1.PodPriority(&w.Pod))
	add("pod.controller", "", "", controller(&w.Pod))
	add("pod.created", "", "", created(&w.Pod))
	for name, amount := range amounts(resourcehelper.PodRequests(&w.Pod, options)) {
		add("pod.request", "", name, amount)
	}
	var names []string
	onNode := map[string]any{}
	for _, image := range w.Node.Status.Images {
		for _, name := range image.Names {
			if _, known := onNode[name]; !known {
				onNode[name] = image.SizeBytes
			}
		}
	}
	for _, container := range append(w.Pod.Spec.InitContainers, w.Pod.Spec.Containers...) {
		name := container.Image
		if strings.LastIndex(name, ":") <= strings.LastIndex(name, "/") {
			name += ":latest"
		}
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
		size, known := onNode[name]
		if !known {
			size = "none"
		}
		add("nodes.image-size", "", container.Image, size)
	}
	add("pod.images", "", "", strings.Join(names, " "))

	options.UseStatusResources = true
	// Kubernetes 1.34 does not have the option.
	if option := reflect.ValueOf(&options).Elem().FieldByName("InPlacePodLevelResourcesVerticalScalingEnabled"); option.IsValid() {
		option.SetBool(true)
	}
	requested, running, mark := map[string]*big.Int{}, 0, ""
	for at := range w.Placed {
		pod := &w.Placed[at]
		if pod.Status.Phase == v1.PodSucceeded || pod.Status.Phase == v1.PodFailed {
			continue
		}
		running++
		own := ""
		if pod.Labels["resizing"] != "" {
			own, mark = " while resized", " while resized"
		}
		add("placed.priority", pod.Name, "", corev1.PodPriority(pod))
		add("placed.controller", pod.Name, "", controller(pod))
		add("placed.created", pod.Name, "", created(pod))
		for name, amount := range amounts(resourcehelper.PodRequests(pod, options)) {
			add("placed.request"+own, pod.Name, name, amount)
			whole, fits := new(big.Int).SetString(amount, 10)
			if !fits {
				whole = new(big.Int).Lsh(big.NewInt(1), 63)
			}
			if requested[name] != nil {
				whole.Add(whole, requested[name])
			}
			requested[name] = whole
		}
	}
	add("placed.count", "", "", running)
	for name, sum := range requested {
		amount := sum.String()
		if !sum.IsInt64() {
			amount = tooLarge
		}
		add("nodes.requested"+mark, "", name, amount)
		add("cluster.requested"+mark, "", name, amount)
	}
	for name, amount := range amounts(w.Node.Status.Allocatable) {
		add("nodes.allocatable", "", name, amount)
	}
	for name, amount := range amounts(w.Node.Status.Capacity) {
		add("nodes.capacity", "", name, amount)
	}
	return reads
}

// The amounts of a list in the units of framework.Resource; resources that it does not name are 0.
func amounts(list v1.ResourceList) map[string]string {
	all := map[string]string{}
	for _, name := range resources {
		all[name] = "0"
	}
	for name, quantity := range list {
		exact, amount := new(inf.Dec).Set(quantity.AsDec()), quantity.Value()
		if name == v1.ResourceCPU {
			exact.Mul(exact, inf.NewDec(1000, 0))
			amount = quantity.MilliValue()
		}
		all[string(name)] = fmt.Sprint(amount)
		if exact.Cmp(inf.NewDec(math.MaxInt64, 0)) > 0 {
			all[string(name)] = tooLarge
		}
	}
	return all
}

func controller(pod *v1.Pod) string {
	owner := metav1.GetControllerOf(pod)
	if owner == nil {
		return "none"
	}
	return fmt.Sprintf("%s %s %s (UID %s)", owner.APIVersion, owner.Kind, owner.Name, owner.UID)
}

func created(pod *v1.Pod) int64 { return max(0, pod.CreationTimestamp.Unix()) }

// As SetDefaults_ResourceList of k8s.io/kubernetes/pkg/apis/core/v1: no stored quantity is finer.
func roundUp(list v1.ResourceList) {
	for name, quantity := range list {
		quantity.RoundUp(resource.Milli)
		list[name] = quantity
	}
}

func eachList(value reflect.Value, do func(v1.ResourceList)) {
	if list, is := value.Interface().(v1.ResourceList); is {
		do(list)
		return
	}
	switch value.Kind() {
	case reflect.Pointer:
		if !value.IsNil() {
			eachList(value.Elem(), do)
		}
	case reflect.Slice:
		for at := range value.Len() {
			eachList(value.Index(at), do)
		}
	case reflect.Struct:
		for at := range value.NumField() {
			if value.Type().Field(at).IsExported() {
				eachList(value.Field(at), do)
			}
		}
	}
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}
