package plimsoll

import "fmt"

// Verdict says whether the pod may run on a node. The zero value says that it may. Verdicts can be compared with ==.
type Verdict struct {
	tag    uint32
	reason string
}

const (
	fits uint32 = iota
	unschedulable
	unresolvable
)

// Fits says that the pod may run on the node.
func Fits() Verdict {
	return Verdict{}
}

// Unschedulable says that the pod does not fit now, but may once other pods are gone. A reason has at most 1,024 bytes,
// and nothing that differs from node to node: kube-scheduler counts nodes by reason.
func Unschedulable(reason string) Verdict {
	return Verdict{unschedulable, reason}
}

// Unresolvable says that the pod does not fit, whatever else is evicted. The reason is as for [Unschedulable].
func Unresolvable(reason string) Verdict {
	return Verdict{unresolvable, reason}
}

// IsFit says whether the pod may run on the node.
func (v Verdict) IsFit() bool {
	return v.tag == fits
}

// Reason is why the pod may not run on the node.
func (v Verdict) Reason() string {
	return v.reason
}

// String shows the verdict in a test.
func (v Verdict) String() string {
	switch v.tag {
	case fits:
		return "fits"
	case unschedulable:
		return fmt.Sprintf("unschedulable: %s", v.reason)
	default:
		return fmt.Sprintf("unresolvable: %s", v.reason)
	}
}

// Preemption is the decision about one preemption candidate. The zero value keeps it.
type Preemption struct {
	tag     uint32
	reason  string
	victims []uint32
}

const (
	keep uint32 = iota
	reject
	replace
)

// Keep evicts the pods that kube-scheduler proposed.
func Keep() Preemption {
	return Preemption{}
}

// Reject does not preempt on this node.
func Reject(reason string) Preemption {
	return Preemption{tag: reject, reason: reason}
}

// Replace evicts these pods of the candidate's node instead; at least one.
func Replace(victims ...Placed) Preemption {
	indices := make([]uint32, len(victims))
	for at, victim := range victims {
		indices[at] = victim.pod
	}
	return Preemption{tag: replace, victims: indices}
}

// String shows the decision in a test; pods are indices among those of the node.
func (p Preemption) String() string {
	switch p.tag {
	case keep:
		return "keep"
	case reject:
		return fmt.Sprintf("reject: %s", p.reason)
	default:
		return fmt.Sprintf("replace: %v", p.victims)
	}
}
