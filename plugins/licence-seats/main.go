// Licence-seats lets a pod that needs a licence run only while one of its seats is free, in the cluster or in a pool of it.
//
//	settings: {seats: {matlab: 40}, pool: example.com/pool}
package main

import (
	"errors"
	"fmt"

	"github.com/plimsoll/plimsoll/plugin-sdk/go/bind"
	"github.com/plimsoll/plimsoll/plugin-sdk/go/filter"
	"github.com/plimsoll/plimsoll/plugin-sdk/go/plimsoll"
)

// LicenceSeats is the policy, and its fields are its settings.
type LicenceSeats struct {
	// The key of the label or annotation in which a pod names its licence.
	Key string `json:"key"`
	// The place of the key: label or annotation.
	In string `json:"in"`
	// The node label whose value is the pool; if it is empty, the whole cluster is one pool.
	Pool string `json:"pool"`
	// By licence: the number of pods of one pool that may have it.
	Seats map[string]uint64 `json:"seats"`
	// The annotation that tells which seat a pod got at bind; none if it is empty.
	Record string `json:"record"`
}

const (
	inLabel      = "label"
	inAnnotation = "annotation"
)

// Filter keeps the nodes in whose pool a seat is free. Where plimsoll binds, it is asked again then, with the pods counted
// that are being bound: so no two pods take the last seat.
func (p *LicenceSeats) Filter(pod plimsoll.Pod, node plimsoll.Node) plimsoll.Verdict {
	licence, asks := p.licence(pod)
	if !asks {
		return plimsoll.Fits()
	}
	seats, known := p.Seats[licence]
	if !known {
		return plimsoll.Unresolvable("the pod's licence is unknown")
	}
	holders, inPool := p.holders(licence, node)
	if !inPool {
		return plimsoll.Unresolvable("node is in no pool of licences")
	}
	// AtLeast and not Count: answers stay cached until the last seat is taken or given back.
	taken, known := node.Cluster().AtLeast(holders, seats)
	switch {
	case !known:
		return plimsoll.Unresolvable("the seats that are taken are not known: the gateway has no view of the cluster")
	case taken && p.Pool == "":
		return plimsoll.Unschedulable("all seats of the licence are taken")
	case taken:
		return plimsoll.Unschedulable("all seats of the licence are taken in the node's pool")
	default:
		return plimsoll.Fits()
	}
}

// Bind gives the pod an annotation with the seat that it got, or refuses it as the filter does.
func (p *LicenceSeats) Bind(pod plimsoll.Pod, node plimsoll.Node) (plimsoll.Metadata, error) {
	if verdict := p.Filter(pod, node); !verdict.IsFit() {
		return plimsoll.Metadata{}, errors.New(verdict.Reason())
	}
	licence, asks := p.licence(pod)
	if !asks || p.Record == "" {
		return plimsoll.Metadata{}, nil
	}
	if pool, has := node.Label(p.Pool); has {
		licence += "/" + pool
	}
	return plimsoll.Metadata{Annotations: map[string]string{p.Record: licence}}, nil
}

// licence is the licence that a pod needs, if it needs one.
func (p *LicenceSeats) licence(pod plimsoll.Pod) (string, bool) {
	if p.In == inAnnotation {
		return pod.Annotation(p.Key)
	}
	return pod.Label(p.Key)
}

// holders selects the pods that have the licence in the node's pool; false if the node is in none.
func (p *LicenceSeats) holders(licence string, node plimsoll.Node) (plimsoll.Selector, bool) {
	var selector plimsoll.Selector
	own := plimsoll.Pair{Key: p.Key, Value: licence}
	if p.In == inAnnotation {
		selector.Annotation = own
	} else {
		selector.Label = own
	}
	if p.Pool == "" {
		return selector, true
	}
	pool, inPool := node.Label(p.Pool)
	selector.NodeLabel = plimsoll.Pair{Key: p.Pool, Value: pool}
	return selector, inPool
}

// Validate refuses settings that make no sense.
func (p *LicenceSeats) Validate() error {
	switch {
	case p.Key == "":
		return errors.New("key: it is empty")
	case p.In != inLabel && p.In != inAnnotation:
		return fmt.Errorf("in: expected %s or %s, found %q", inLabel, inAnnotation, p.In)
	case len(p.Seats) == 0:
		return errors.New("seats: expected at least one licence, as in {matlab: 40}")
	}
	return nil
}

func newPolicy() *LicenceSeats {
	return &LicenceSeats{Key: "example.com/licence", In: inLabel}
}

func init() {
	policy := newPolicy()
	filter.Export(policy)
	bind.Export(policy)
}

func main() {}
