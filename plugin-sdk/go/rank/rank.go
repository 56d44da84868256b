// Package rank makes a module answer `rank`: it says how good the nodes are, seen together.
//
//	func init() { rank.Export(&ZoneSpread{}) }
package rank

import (
	"github.com/plimsoll/plimsoll/plugin-sdk/go/internal/guest"
	"github.com/plimsoll/plimsoll/plugin-sdk/go/plimsoll"
)

// Policy is a policy with this verb.
type Policy interface {
	// Rank gives each node 0 to 100, in the order of the nodes. More than 100, or another count, is a fault.
	Rank(pod plimsoll.Pod, nodes plimsoll.Nodes) []uint32
}

// Export makes the module answer this verb with the policy, a pointer. Its fields are the settings: those that the
// sidecar does not have keep the values that they have here. Call it in an init function.
func Export(policy Policy) {
	guest.Export(guest.Rank, policy)
}
