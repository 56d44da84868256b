// Everything reads all that a policy can read and answers all that it can answer, so that what it says in Go can be
// compared with what its twin in the Rust SDK says.
package main

import (
	"errors"
	"fmt"
	"log/slog"
	"strings"

	"github.com/plimsoll/plimsoll/plugin-sdk/go/bind"
	"github.com/plimsoll/plimsoll/plugin-sdk/go/filter"
	_ "github.com/plimsoll/plimsoll/plugin-sdk/go/hostlog"
	"github.com/plimsoll/plimsoll/plugin-sdk/go/plimsoll"
	"github.com/plimsoll/plimsoll/plugin-sdk/go/preempt"
	"github.com/plimsoll/plimsoll/plugin-sdk/go/rank"
	"github.com/plimsoll/plimsoll/plugin-sdk/go/score"
)

// Everything is the policy; the topic says what it tells about, or how it fails.
type Everything struct {
	Topic string `json:"topic"`
}

func (e *Everything) tell(pod plimsoll.Pod, node plimsoll.Node) string {
	switch e.Topic {
	case "pod":
		return tellPod(pod)
	case "node":
		return tellNode(node)
	case "placed":
		return tellPlaced(node)
	case "cluster":
		return tellCluster(node.Cluster())
	case "field":
		return tellFields(pod, node)
	case "large":
		return tellLarge(node)
	case "time":
		return fmt.Sprint(pod.Now(0).Unix(), " ", pod.Now(minute).Unix(), " ", pod.Now(60*minute).Unix())
	}
	return misbehave(e.Topic, node)
}

// Filter tells about the topic, unless the node says what to answer.
func (e *Everything) Filter(pod plimsoll.Pod, node plimsoll.Node) plimsoll.Verdict {
	slog.Debug("asked", "node", node.Name())
	switch verdict, _ := node.Annotation("verdict"); verdict {
	case "fits":
		return plimsoll.Fits()
	case "unresolvable":
		return plimsoll.Unresolvable("a text that is not allocated")
	}
	return plimsoll.Unschedulable(e.tell(pod, node))
}

// Score is what the node says.
func (e *Everything) Score(_ plimsoll.Pod, node plimsoll.Node) uint32 {
	text, _ := node.Annotation("score")
	score, err := plimsoll.ParseQuantity(text)
	if err != nil {
		return 0
	}
	return uint32(score.Value())
}

// Rank gives the nodes of the best group one more for each pod that is counted.
func (e *Everything) Rank(pod plimsoll.Pod, nodes plimsoll.Nodes) []uint32 {
	groups, counts := nodes.ByLabel("group"), nodes.CountLabelled("web", "app", "web")
	scores := make([]uint32, 0, nodes.Len())
	for at, node := range nodes.All() {
		own := e.Score(pod, node)
		if group, ok := groups.Of(at); ok && groups.Values()[group] == "best" {
			own += counts[at]
		}
		scores = append(scores, own)
	}
	return scores
}

// Preempt answers by the number of violated budgets.
func (e *Everything) Preempt(_ plimsoll.Pod, candidate plimsoll.Candidate) plimsoll.Preemption {
	victims := candidate.Victims()
	switch candidate.PDBViolations() {
	case 0:
		return plimsoll.Keep()
	case 1:
		return plimsoll.Replace(victims[len(victims)-1])
	}
	var names, nodes []string
	for _, victim := range victims {
		names = append(names, victim.Name())
	}
	for _, other := range candidate.All() {
		nodes = append(nodes, other.Node().Name())
	}
	return plimsoll.Reject(debug(names) + " of " + debug(nodes))
}

// Bind gives the pod what the node says.
func (e *Everything) Bind(pod plimsoll.Pod, node plimsoll.Node) (plimsoll.Metadata, error) {
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
func (e *Everything) Validate() error {
	topics := "pod, node, placed, cluster, field, large, time, " + strings.Join(misbehaviours, ", ")
	switch {
	case e.Topic == "":
		return errors.New("the field topic is missing")
	case e.Topic == "refused":
		return errors.New("topic: é is refused")
	case !strings.Contains(", "+topics+", ", ", "+e.Topic+", "):
		return fmt.Errorf("topic: expected one of %s, found %q", topics, e.Topic)
	}
	return nil
}

func init() {
	policy := &Everything{}
	filter.Export(policy)
	score.Export(policy)
	rank.Export(policy)
	preempt.Export(policy)
	bind.Export(policy)
}

func main() {}
