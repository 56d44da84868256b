package plimsoll

import (
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"time"
)

// Pod is the pod being scheduled.
type Pod struct {
	host hostCalls
}

// Node is one node of the request.
type Node struct {
	host hostCalls
	node uint32
}

// Nodes are all nodes of the request.
type Nodes struct {
	host hostCalls
}

// Placed is a pod placed on a node, or being bound to it.
type Placed struct {
	host hostCalls
	node uint32
	pod  uint32
}

// Candidate is a node on which kube-scheduler could make room, with the pods that it would evict.
type Candidate struct {
	host      hostCalls
	candidate uint32
}

// Cluster is all nodes and pods that the gateway knows, those outside of the request included.
//
// A pod counts from the moment it is being bound until it has succeeded or failed, or is deleted: so a pod that
// terminates still counts, and one that waits for a node only where it is nominated. The pod being scheduled never counts.
// No answer has a value where the gateway has no view of the cluster. Read it again for each node: a value that is kept from one call to
// the next makes cached answers wrong.
type Cluster struct {
	host hostCalls
}

// Facts are the facts from outside the cluster by their keys, in sources that the policy's sidecar names: prices, budgets,
// calendars. Those about a node are read of the [Node]. Read them again for each node: a value that is kept from one call to
// the next makes cached answers wrong.
type Facts struct {
	host hostCalls
}

// Groups are nodes by the value of a label: one group for each value.
type Groups struct {
	values []string
	groups []uint32
}

// Created returns when the pod was created; ok is false if that is unknown. Nearly every pod has a time of its own, so answers that
// depend on it are cached for that pod alone.
func (p Pod) Created() (created time.Time, ok bool) {
	return unixTime(p.host.PodCreated())
}

// Field reads the value at an RFC 6901 pointer into the whole object, such as `/spec/schedulerName`, into a variable
// with encoding/json. It reports whether there is one.
func (p Pod) Field(pointer string, into any) (ok bool, err error) {
	text, ok := p.FieldText(pointer)
	return parseField(text, ok, pointer, into)
}

// Now returns the time of the request, rounded down to a multiple of the granularity, which has whole seconds: Now(time.Hour)
// changes once an hour. An answer stays cached as long as this value does, so use the coarsest that is good enough. The
// clock of package time stands still.
func (p Pod) Now(granularity time.Duration) time.Time {
	return time.Unix(int64(p.host.HostNow(uint32(granularity/time.Second))), 0).UTC()
}

// Field is as [Pod.Field].
func (n Node) Field(pointer string, into any) (ok bool, err error) {
	text, ok := n.FieldText(pointer)
	return parseField(text, ok, pointer, into)
}

var (
	errPodsUnknown    = errors.New("the pods on the node are not known")
	errDevicesUnknown = errors.New("DRA provides the resource on the node, and a policy cannot count its devices")
)

// Free returns the amount of a resource that the pods on the node leave: cpu in millicores, all else in base units. The
// error is the reason why there is none: the pods are not known, or the resource is not (see [Node.ResourceKnown]), which
// kube-scheduler checks itself.
func (n Node) Free(name string) (int64, error) {
	if !n.ResourceKnown(name) {
		return 0, errDevicesUnknown
	}
	requested, ok := n.Requested(name)
	if !ok {
		return 0, errPodsUnknown
	}
	return n.Allocatable(name) - requested, nil
}

// Placed returns the pods placed on the node, or being bound to it; none where the host has no view of pods.
func (n Node) Placed() iter.Seq[Placed] {
	return func(yield func(Placed) bool) {
		for pod := range n.host.PlacedCount(n.node) {
			if !yield(Placed{n.host, n.node, pod}) {
				return
			}
		}
	}
}

// PlacedCount returns the number of pods placed on the node; 0 where the host has no view of pods (see
// [Node.PlacedKnown]).
func (n Node) PlacedCount() int {
	return int(n.host.PlacedCount(n.node))
}

// Cluster returns the cluster that the node is part of.
func (n Node) Cluster() Cluster {
	return Cluster{n.host}
}

// Facts returns the facts that are about no single node.
func (n Node) Facts() Facts {
	return Facts{n.host}
}

// Len returns the number of nodes.
func (n Nodes) Len() int {
	return int(n.host.NodesCount())
}

// All returns the nodes in their order, by index.
func (n Nodes) All() iter.Seq2[int, Node] {
	return func(yield func(int, Node) bool) {
		for node := range n.host.NodesCount() {
			if !yield(int(node), Node{n.host, node}) {
				return
			}
		}
	}
}

// Cluster returns the cluster that the nodes are part of.
func (n Nodes) Cluster() Cluster {
	return Cluster{n.host}
}

// Facts returns the facts that are about no single node.
func (n Nodes) Facts() Facts {
	return Facts{n.host}
}

// Created returns when the pod was created; ok is false if that is unknown.
func (p Placed) Created() (created time.Time, ok bool) {
	return unixTime(p.host.PlacedCreated(p.node, p.pod))
}

// Node returns the node where room would be made.
func (c Candidate) Node() Node {
	return Node{c.host, c.host.CandidatesNode(c.candidate)}
}

// Victims returns the pods that would be evicted, by descending priority.
func (c Candidate) Victims() []Placed {
	node, victims := c.host.CandidatesNode(c.candidate), c.host.CandidatesVictims(c.candidate)
	placed := make([]Placed, len(victims))
	for at, pod := range victims {
		placed[at] = Placed{c.host, node, pod}
	}
	return placed
}

// All returns all candidates of the request, this one among them.
func (c Candidate) All() []Candidate {
	return candidates(c.host)
}

// Cluster returns the cluster that the candidate is part of, its victims included.
func (c Candidate) Cluster() Cluster {
	return Cluster{c.host}
}

// Facts returns the facts that are about no single node.
func (c Candidate) Facts() Facts {
	return Facts{c.host}
}

// Len returns the number of groups.
func (g Groups) Len() int {
	return len(g.values)
}

// Values returns the values of the groups, in their order.
func (g Groups) Values() []string {
	return g.values
}

// Of returns the group of a node by its index; ok is false for a node without the label.
func (g Groups) Of(node int) (group int, ok bool) {
	group = int(g.groups[node])
	return group, group < len(g.values)
}

func candidates(host hostCalls) []Candidate {
	all := make([]Candidate, host.CandidatesCount())
	for at := range all {
		all[at] = Candidate{host, uint32(at)}
	}
	return all
}

func unixTime(seconds uint64) (time.Time, bool) {
	if seconds == 0 {
		return time.Time{}, false
	}
	return time.Unix(int64(seconds), 0).UTC(), true
}

func parseField(text string, ok bool, pointer string, into any) (bool, error) {
	if !ok {
		return false, nil
	}
	if err := json.Unmarshal([]byte(text), into); err != nil {
		return true, fmt.Errorf("%s: %w", pointer, err)
	}
	return true, nil
}
