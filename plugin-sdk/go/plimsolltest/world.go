//go:build !wasip1

// Package plimsolltest asks a policy natively, under go test: no WebAssembly, no cluster. A [World] has the pod to
// schedule, the nodes and the pods placed there, and answers each read as the gateway does:
//
//	world := plimsolltest.World{
//		Pod: plimsolltest.Pod{Name: "p", Annotations: map[string]string{"example.com/needs": "ssd"}},
//		Nodes: []plimsolltest.Node{
//			{Name: "fast", Labels: map[string]string{"ssd": "true"}},
//			{Name: "slow"},
//		},
//	}
//	if verdict := world.Filter(&NeedsLabel{Annotation: "example.com/needs"}, "slow"); verdict.IsFit() {
//		t.Error(verdict)
//	}
//
// An invalid world, such as one with a malformed quantity, panics with the reason. So does a read that the
// gateway would end as a fault.
package plimsolltest

import (
	"fmt"
	"slices"
	"time"

	"github.com/plimsoll/plimsoll/plugin-sdk/go/bind"
	"github.com/plimsoll/plimsoll/plugin-sdk/go/filter"
	"github.com/plimsoll/plimsoll/plugin-sdk/go/internal/bridge"
	"github.com/plimsoll/plimsoll/plugin-sdk/go/internal/settings"
	"github.com/plimsoll/plimsoll/plugin-sdk/go/plimsoll"
	"github.com/plimsoll/plimsoll/plugin-sdk/go/preempt"
	"github.com/plimsoll/plimsoll/plugin-sdk/go/rank"
	"github.com/plimsoll/plimsoll/plugin-sdk/go/score"
)

// World is the cluster and the pod of a test.
type World struct {
	// The pod to schedule.
	Pod Pod
	// The nodes of the request, which are all nodes of the cluster.
	Nodes []Node
	// The evictions that kube-scheduler proposes, for Preempt.
	Candidates []Candidate
	// The labels of each namespace that the gateway knows.
	Namespaces map[string]map[string]string
	// The facts of each source by key, as text; those about a node have its name as their key.
	Facts map[string]map[string]string
	// The time of the request.
	Now time.Time
	// The gateway has no view of the whole cluster: no read of it has a value.
	WithoutCluster bool
	// The gateway knows no pods but the one to schedule, and so has no view of the cluster either.
	WithoutPods bool
}

// Candidate is a node on which kube-scheduler could make room.
type Candidate struct {
	Node string
	// As namespace/name, by descending priority.
	Victims       []string
	PDBViolations uint32
}

// Settings reads settings, in JSON, into a policy with the checks that the gateway makes as it loads the policy. The error
// is what an operator sees.
func Settings(policy any, json string) error {
	return settings.Decode(policy, json)
}

// Filter asks about one node.
func (w World) Filter(policy filter.Policy, node string) plimsoll.Verdict {
	host := newHost(w, w.Nodes)
	return policy.Filter(podOf(host), host.find(node))
}

// Score asks for the score of one node.
func (w World) Score(policy score.Policy, node string) uint32 {
	host := newHost(w, w.Nodes)
	own := policy.Score(podOf(host), host.find(node))
	return checkedScore(own, node)
}

// Rank asks for the scores of all nodes; by their names.
func (w World) Rank(policy rank.Policy) map[string]uint32 {
	host := newHost(w, w.Nodes)
	scores := policy.Rank(podOf(host), nodesOf(host))
	if len(scores) != len(w.Nodes) {
		panic(fmt.Sprintf("the policy gave %d scores for %d nodes", len(scores), len(w.Nodes)))
	}
	named := map[string]uint32{}
	for at, own := range scores {
		named[w.Nodes[at].Name] = checkedScore(own, w.Nodes[at].Name)
	}
	return named
}

// Preempt asks about the first candidate on a node.
func (w World) Preempt(policy preempt.Policy, node string) plimsoll.Preemption {
	at := slices.IndexFunc(w.Candidates, func(own Candidate) bool { return own.Node == node })
	if at < 0 {
		panic(fmt.Sprintf("the test asks about a candidate on the node %q; there is none", node))
	}
	var nodes []Node
	for _, candidate := range w.Candidates {
		nodes = append(nodes, w.node("a candidate", candidate.Node))
	}
	host := newHost(w, nodes)
	for at, candidate := range w.Candidates {
		host.candidates = append(host.candidates, victims(candidate, host.nodes[at]))
	}
	return policy.Preempt(podOf(host), bridge.NewCandidates(host).([]plimsoll.Candidate)[at])
}

// Bind asks what the pod gets as it is bound to a node. The error is that of the policy, or that of the gateway if the pod
// cannot carry the metadata: it has a label already with another value, or would have too large annotations. Metadata that
// breaks the rules of Kubernetes panics, since the gateway ends such a call as a fault.
func (w World) Bind(policy bind.Policy, node string) (plimsoll.Metadata, error) {
	host := newHost(w, w.Nodes)
	metadata, err := policy.Bind(podOf(host), host.find(node))
	if err == nil {
		err = checkMetadata(metadata, host.pod)
	} else if size := len(err.Error()); size > maxReason {
		panic(fmt.Sprintf("a reason of %d bytes; at most %d are allowed", size, maxReason))
	}
	if err != nil {
		return plimsoll.Metadata{}, err
	}
	return metadata, nil
}

func podOf(host *host) plimsoll.Pod {
	return bridge.NewPod(host).(plimsoll.Pod)
}

func nodesOf(host *host) plimsoll.Nodes {
	return bridge.NewNodes(host).(plimsoll.Nodes)
}

func (w World) node(who, name string) Node {
	at := slices.IndexFunc(w.Nodes, func(own Node) bool { return own.Name == name })
	if at < 0 {
		panic(fmt.Sprintf("%s names the node %q; there is no such node", who, name))
	}
	return w.Nodes[at]
}

func victims(candidate Candidate, node *node) candidateIndices {
	indices := candidateIndices{pdbViolations: candidate.PDBViolations}
	for _, victim := range candidate.Victims {
		at := slices.IndexFunc(node.pods, func(pod *pod) bool { return pod.namespace+"/"+pod.Name == victim })
		if at < 0 {
			panic(fmt.Sprintf("the candidate %q names the victim %q; no such pod is placed there", candidate.Node, victim))
		}
		indices.victims = append(indices.victims, uint32(at))
	}
	return indices
}

func checkedScore(score uint32, node string) uint32 {
	if score > 100 {
		panic(fmt.Sprintf("the policy gave %s the score %d; it may give 0 to 100", node, score))
	}
	return score
}
