// Needs-label rejects nodes that lack the label a pod asks for in an annotation.
//
//	settings: {annotation: example.com/needs}
package main

import (
	"errors"

	"github.com/plimsoll/plimsoll/plugin-sdk/go/filter"
	"github.com/plimsoll/plimsoll/plugin-sdk/go/plimsoll"
	"github.com/plimsoll/plimsoll/plugin-sdk/go/score"
)

// NeedsLabel is the policy, and its fields are its settings.
type NeedsLabel struct {
	// The annotation in which a pod names the label.
	Annotation string `json:"annotation"`
	// The free memory with which a node gets the full score.
	Spare plimsoll.Quantity `json:"spare"`
}

// Filter keeps the nodes that have the label.
func (p *NeedsLabel) Filter(pod plimsoll.Pod, node plimsoll.Node) plimsoll.Verdict {
	key, asks := pod.Annotation(p.Annotation)
	if !asks {
		return plimsoll.Fits()
	}
	if _, has := node.Label(key); !has {
		return plimsoll.Unresolvable("node lacks the label that the pod needs")
	}
	return plimsoll.Fits()
}

// Score prefers nodes with memory to spare; a node whose pods are not known gets nothing.
func (p *NeedsLabel) Score(_ plimsoll.Pod, node plimsoll.Node) uint32 {
	spare, err := node.Free("memory")
	if err != nil {
		return 0
	}
	share := float64(max(spare, 0)) / float64(p.Spare.Value())
	return uint32(100 * min(share, 1))
}

// Validate refuses settings that make no sense.
func (p *NeedsLabel) Validate() error {
	switch {
	case p.Annotation == "":
		return errors.New("annotation: it is empty")
	case p.Spare.Value() <= 0:
		return errors.New("spare: it must be above 0")
	}
	return nil
}

func init() {
	policy := &NeedsLabel{Annotation: "example.com/needs", Spare: plimsoll.MustQuantity("16Gi")}
	filter.Export(policy)
	score.Export(policy)
}

func main() {}
