// Package bridge lets package plimsolltest make values of package plimsoll that only the SDK can make. Package plimsoll
// sets the functions in native builds. Their host answers each read of the contract; what they return is named like them.
package bridge

var (
	// NewPod returns the plimsoll.Pod that a host answers about.
	NewPod func(host any) any
	// NewNodes returns the plimsoll.Nodes that a host answers about.
	NewNodes func(host any) any
	// NewCandidates returns the []plimsoll.Candidate that a host answers about.
	NewCandidates func(host any) any
	// NewGroups returns the plimsoll.Groups with each value once, and for each node the index of its own, or the number of
	// values.
	NewGroups func(values []string, groups []uint32) any
)
