// The policy conformance in Go: it reads all that a policy can read, answers all that it can answer, and fails in every
// way. docs/conformance.md says what each topic is, and `plimsoll conformance` compares.
package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/plimsoll/plimsoll/plugin-sdk/go/bind"
	"github.com/plimsoll/plimsoll/plugin-sdk/go/filter"
	_ "github.com/plimsoll/plimsoll/plugin-sdk/go/hostlog"
	"github.com/plimsoll/plimsoll/plugin-sdk/go/plimsoll"
	"github.com/plimsoll/plimsoll/plugin-sdk/go/preempt"
	"github.com/plimsoll/plimsoll/plugin-sdk/go/rank"
	"github.com/plimsoll/plimsoll/plugin-sdk/go/score"
)

// Conformance is the policy; the topic says what it tells about, or how it fails.
type Conformance struct {
	Topic string `json:"topic"`
}

var topics = []string{
	"pod", "node", "placed", "cluster", "namespace", "facts", "field", "large", "time", "pool", "high-score", "no-victims",
	"missing-candidate",
}

func (c *Conformance) tell(pod plimsoll.Pod, node plimsoll.Node) string {
	switch c.Topic {
	case "pod":
		return tellPod(pod).String()
	case "node":
		return tellNode(node).String()
	case "placed":
		return tellPlaced(node).String()
	case "cluster":
		return tellCluster(node.Cluster()).String()
	case "namespace":
		return tellNamespace(pod).String()
	case "facts":
		return tellFacts(node).String()
	case "field":
		return tellFields(pod, node).String()
	case "large":
		return tellLarge(node).String()
	case "time":
		return tellTime(pod).String()
	}
	return misbehave(c.Topic, node)
}

// Filter tells about the topic, unless the node says what to answer.
func (c *Conformance) Filter(pod plimsoll.Pod, node plimsoll.Node) plimsoll.Verdict {
	switch verdict, _ := node.Annotation("verdict"); verdict {
	case "fits":
		return plimsoll.Fits()
	case "unresolvable":
		return plimsoll.Unresolvable("eviction does not help")
	}
	if c.Topic == "pool" {
		own, _ := node.Label("pool")
		if wanted, _ := pod.Label("pool"); own == wanted {
			return plimsoll.Fits()
		}
		return plimsoll.Unschedulable("another pool")
	}
	return plimsoll.Unschedulable(c.tell(pod, node))
}

// Score is what the node says.
func (c *Conformance) Score(_ plimsoll.Pod, node plimsoll.Node) uint32 {
	if c.Topic == "high-score" {
		return 101
	}
	text, _ := node.Annotation("score")
	score, err := plimsoll.ParseQuantity(text)
	if err != nil {
		return 0
	}
	return uint32(score.Value())
}

// Rank gives the nodes of the best group one more for each pod that is counted, and another if it does not terminate.
func (c *Conformance) Rank(pod plimsoll.Pod, nodes plimsoll.Nodes) []uint32 {
	groups, counts := nodes.ByLabel("group"), nodes.CountsLabelled("web", "app", "web")
	active := nodes.CountsActive("web", "app", "web")
	scores := make([]uint32, 0, nodes.Len())
	for at, node := range nodes.All() {
		own := c.Score(pod, node)
		if group, ok := groups.Of(at); ok && groups.Values()[group] == "best" {
			own += counts[at] + active[at]
		}
		scores = append(scores, own)
	}
	return scores
}

// Preempt answers by the number of violated budgets.
func (c *Conformance) Preempt(_ plimsoll.Pod, candidate plimsoll.Candidate) plimsoll.Preemption {
	switch c.Topic {
	case "no-victims":
		return plimsoll.Replace()
	case "missing-candidate":
		// The types of this SDK have no candidate that does not exist.
		return plimsoll.Reject("impossible")
	}
	victims := candidate.Victims()
	switch candidate.PDBViolations() {
	case 0:
		return plimsoll.Keep()
	case 1:
		return plimsoll.Replace(victims[len(victims)-1])
	}
	return plimsoll.Reject(tellEviction(candidate).String())
}

// Bind gives the pod what the node says.
func (c *Conformance) Bind(pod plimsoll.Pod, node plimsoll.Node) (plimsoll.Metadata, error) {
	value, ok := node.Annotation("bind")
	switch {
	case !ok:
		return plimsoll.Metadata{}, errors.New(pod.Name() + " cannot be bound")
	case value == "later":
		return plimsoll.Metadata{}, fmt.Errorf("%w", plimsoll.Retry("not yet"))
	case value == "nothing":
		return plimsoll.Metadata{}, nil
	}
	return plimsoll.Metadata{
		Annotations: map[string]string{"value": value, "node": node.Name()},
		Labels:      map[string]string{"rack": "r1"},
	}, nil
}

// Validate refuses topics that there are not.
func (c *Conformance) Validate() error {
	known := slices.Concat(topics, misbehaviours)
	switch {
	case c.Topic == "":
		return errors.New("the field topic is missing")
	case c.Topic == "refused":
		return errors.New("topic: é is refused")
	case !slices.Contains(known, c.Topic):
		return fmt.Errorf("topic: expected one of %s, found %q", strings.Join(known, ", "), c.Topic)
	}
	return nil
}

func init() {
	policy := &Conformance{}
	filter.Export(policy)
	score.Export(policy)
	rank.Export(policy)
	preempt.Export(policy)
	bind.Export(policy)
}

func main() {}
