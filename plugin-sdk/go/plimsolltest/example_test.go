//go:build !wasip1

package plimsolltest_test

import (
	"fmt"

	"github.com/plimsoll/plimsoll/plugin-sdk/go/plimsoll"
	"github.com/plimsoll/plimsoll/plugin-sdk/go/plimsolltest"
)

type needsLabel struct {
	Annotation string `json:"annotation"`
}

func (p *needsLabel) Filter(pod plimsoll.Pod, node plimsoll.Node) plimsoll.Verdict {
	if key, asks := pod.Annotation(p.Annotation); asks {
		if _, has := node.Label(key); !has {
			return plimsoll.Unresolvable("node lacks the label that the pod needs")
		}
	}
	return plimsoll.Fits()
}

func ExampleWorld_Filter() {
	policy := &needsLabel{}
	if err := plimsolltest.Settings(policy, `{"annotation": "example.com/needs"}`); err != nil {
		fmt.Println(err)
	}
	world := plimsolltest.World{
		Pod: plimsolltest.Pod{Name: "p", Annotations: map[string]string{"example.com/needs": "ssd"}},
		Nodes: []plimsolltest.Node{
			{Name: "fast", Labels: map[string]string{"ssd": "true"}},
			{Name: "slow"},
		},
	}
	fmt.Println(world.Filter(policy, "fast"))
	fmt.Println(world.Filter(policy, "slow"))
	// Output:
	// fits
	// unresolvable: node lacks the label that the pod needs
}

// slots gives each pod a slot of its own on its node.
type slots struct{}

func (slots) Bind(_ plimsoll.Pod, node plimsoll.Node) (plimsoll.Metadata, error) {
	taken := map[string]bool{}
	for pod := range node.Placed() {
		slot, _ := pod.Annotation("example.com/slot")
		taken[slot] = true
	}
	for _, slot := range []string{"0", "1"} {
		if !taken[slot] {
			return plimsoll.Metadata{Annotations: map[string]string{"example.com/slot": slot}}, nil
		}
	}
	return plimsoll.Metadata{}, fmt.Errorf("no slot is left")
}

func ExampleWorld_Bind() {
	placed := plimsolltest.Pod{Name: "first", Annotations: map[string]string{"example.com/slot": "0"}}
	world := plimsolltest.World{
		Pod:   plimsolltest.Pod{Name: "second"},
		Nodes: []plimsolltest.Node{{Name: "n", Pods: []plimsolltest.Pod{placed}}},
	}
	metadata, err := world.Bind(slots{}, "n")
	fmt.Println(metadata.Annotations, err)
	// Output: map[example.com/slot:1] <nil>
}
