// Package score makes a module answer `score`: it says how good a node is, each by itself.
//
//	func init() { score.Export(&LeastLoaded{}) }
package score

import (
	"github.com/plimsoll/plimsoll/plugin-sdk/go/internal/guest"
	"github.com/plimsoll/plimsoll/plugin-sdk/go/plimsoll"
)

// Policy is a policy with this verb.
type Policy interface {
	// Score gives the node 0 to 100; higher is better. More than 100 is a fault.
	Score(pod plimsoll.Pod, node plimsoll.Node) uint32
}

// Export makes the module answer this verb with the policy, a pointer. Its fields are the settings: those that the
// sidecar does not have keep the values that they have here. Call it in an init function.
func Export(policy Policy) {
	guest.Export(guest.Score, policy)
}
