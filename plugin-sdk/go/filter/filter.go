// Package filter makes a module answer `filter`: it says which nodes a pod may run on.
//
//	func init() { filter.Export(&NeedsLabel{}) }
package filter

import (
	"github.com/plimsoll/plimsoll/plugin-sdk/go/internal/guest"
	"github.com/plimsoll/plimsoll/plugin-sdk/go/plimsoll"
)

// Policy is a policy with this verb.
type Policy interface {
	// Filter says whether the pod may run on the node.
	Filter(pod plimsoll.Pod, node plimsoll.Node) plimsoll.Verdict
}

// Export makes the module answer this verb with the policy, a pointer. Its fields are the settings: those that the
// sidecar does not have keep the values that they have here. Call it in an init function.
func Export(policy Policy) {
	guest.Export(guest.Filter, policy)
}
