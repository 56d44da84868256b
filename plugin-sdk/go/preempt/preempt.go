// Package preempt makes a module answer `preempt`: it says which pods may be evicted for another.
//
//	func init() { preempt.Export(&ProtectBatch{}) }
package preempt

import (
	"github.com/plimsoll/plimsoll/plugin-sdk/go/internal/guest"
	"github.com/plimsoll/plimsoll/plugin-sdk/go/plimsoll"
)

// Policy is a policy with this verb.
type Policy interface {
	// Preempt keeps the candidate, rejects it, or replaces its victims.
	Preempt(pod plimsoll.Pod, candidate plimsoll.Candidate) plimsoll.Preemption
}

// Export makes the module answer this verb with the policy, a pointer. Its fields are the settings: those that the
// sidecar does not have keep the values that they have here. Call it in an init function.
func Export(policy Policy) {
	guest.Export(guest.Preempt, policy)
}
