// Package bind makes a module answer `bind`: it says what a pod carries from its binding on.
//
//	func init() { bind.Export(&GpuDevices{}) }
package bind

import (
	"github.com/plimsoll/plimsoll/plugin-sdk/go/internal/guest"
	"github.com/plimsoll/plimsoll/plugin-sdk/go/plimsoll"
)

// Policy is a policy with this verb.
type Policy interface {
	// Bind gives the pod what it carries as it is bound to the node. An error is a refusal, and its text goes to
	// kube-scheduler. After [plimsoll.Retry] the host asks again.
	Bind(pod plimsoll.Pod, node plimsoll.Node) (plimsoll.Metadata, error)
}

// Export makes the module answer this verb with the policy, a pointer. Its fields are the settings: those that the
// sidecar does not have keep the values that they have here. Call it in an init function.
func Export(policy Policy) {
	guest.Export(guest.Bind, policy)
}
