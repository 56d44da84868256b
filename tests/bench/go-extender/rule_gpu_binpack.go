package main

import (
	"encoding/json"
	"strconv"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// mostDevices is more than any machine has; a longer list is a mistake.
const mostDevices = 64

// gpuBinpack packs pods that need a part of a GPU's memory onto as few devices as possible.
type gpuBinpack struct {
	Memory, Devices, Device string
}

// device is one GPU of a node: its memory, and what the placed pods leave of it.
type device struct {
	size, left int64
}

// devicesOf is what a node's annotations and its placed pods come to.
type devicesOf struct {
	devices []device
	largest int64
	// problem is why the node has no usable list; badPod that a placed pod's annotations are malformed.
	problem string
	badPod  bool
}

func newGPUBinpack(text json.RawMessage) (*gpuBinpack, error) {
	rule := &gpuBinpack{
		Memory:  "example.com/gpu-mem",
		Devices: "example.com/gpu-devices",
		Device:  "example.com/gpu-device",
	}
	return rule, readSettings(text, rule)
}

func (r *gpuBinpack) derive(n *node) any {
	list, ok := n.annotations[r.Devices]
	if !ok {
		return &devicesOf{problem: "node has no GPU"}
	}
	state := &devicesOf{}
	for text := range strings.SplitSeq(list, ",") {
		size, ok := bytesOf(strings.TrimSpace(text))
		if !ok || size < 1 || len(state.devices) == mostDevices {
			return &devicesOf{problem: "the node's list of GPUs is malformed"}
		}
		state.devices = append(state.devices, device{size, size})
		state.largest = max(state.largest, size)
	}
	for _, placed := range n.placed {
		if !r.take(state.devices, placed) {
			state.badPod = true
			break
		}
	}
	return state
}

// take takes what a placed pod has, or says that its annotations are malformed.
func (r *gpuBinpack) take(devices []device, placed *placedPod) bool {
	memory, ok := r.memoryOf(placed.annotations, placed.requests)
	if !ok {
		return false
	}
	if memory == 0 {
		return true
	}
	number, ok := placed.annotations[r.Device]
	if !ok {
		// It lies on one device, but it is not known on which: none of them may be given twice.
		for i := range devices {
			devices[i].left -= memory
		}
		return true
	}
	at, err := strconv.ParseUint(number, 10, 32)
	if err != nil || at >= uint64(len(devices)) {
		return false
	}
	devices[at].left -= memory
	return true
}

func (r *gpuBinpack) memoryOf(annotations map[string]string, requests v1.ResourceList) (int64, bool) {
	if text, ok := annotations[r.Memory]; ok {
		memory, ok := bytesOf(text)
		return memory, ok && memory >= 0
	}
	request := requests[v1.ResourceName(r.Memory)]
	return request.Value(), true
}

func (r *gpuBinpack) filterFor(p *pod) func(*node, any) verdict {
	wanted, ok := r.memoryOf(p.annotations, p.requests)
	return func(_ *node, derived any) verdict {
		if !ok {
			return verdict{unresolvable, "the pod's GPU memory is not a quantity"}
		}
		if wanted == 0 {
			return verdict{}
		}
		state := derived.(*devicesOf)
		switch {
		case state.problem != "":
			return verdict{unresolvable, state.problem}
		case state.largest < wanted:
			return verdict{unresolvable, "no GPU of the node is that large"}
		case state.badPod:
			return verdict{unschedulable, "a pod on the node has malformed GPU annotations"}
		case state.tightest(wanted) < 0:
			return verdict{unschedulable, "no GPU of the node has enough memory left"}
		default:
			return verdict{}
		}
	}
}

func (r *gpuBinpack) scoreFor(p *pod) func(*node, any) int64 {
	wanted, ok := r.memoryOf(p.annotations, p.requests)
	return func(_ *node, derived any) int64 {
		state := derived.(*devicesOf)
		if !ok || wanted == 0 || state.problem != "" || state.badPod || state.largest < wanted {
			return 0
		}
		return max(state.tightest(wanted), 0)
	}
}

// tightest returns how full, in percent, the fullest device with room for the memory is once it is there; -1 if none has.
func (s *devicesOf) tightest(memory int64) int64 {
	fullest := int64(-1)
	for _, d := range s.devices {
		if d.left >= memory {
			fullest = max(fullest, (d.size-d.left+memory)*100/d.size)
		}
	}
	return fullest
}

func bytesOf(text string) (int64, bool) {
	quantity, err := resource.ParseQuantity(text)
	if err != nil {
		return 0, false
	}
	return quantity.Value(), true
}
