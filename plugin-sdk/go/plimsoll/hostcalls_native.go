//go:build !wasip1

package plimsoll

import (
	"fmt"
	"os"
)

// hostCalls answers the reads of a test.
type hostCalls struct {
	Host
}

// NewPod is the pod that a host answers about, for package plimsolltest.
func NewPod(host Host) Pod {
	return Pod{hostCalls{host}}
}

// NewNodes are the nodes that a host answers about, for package plimsolltest.
func NewNodes(host Host) Nodes {
	return Nodes{hostCalls{host}}
}

// NewCandidates are the candidates that a host answers about, for package plimsolltest.
func NewCandidates(host Host) []Candidate {
	return candidates(hostCalls{host})
}

// NewGroups makes the answer to [Nodes.ByLabel], for package plimsolltest: each value once, and for each node the index
// of its own, or the number of values.
func NewGroups(values []string, groups []uint32) Groups {
	return Groups{values, groups}
}

// write shows a log line in the output of a test.
func write(level uint32, message string) {
	fmt.Fprintf(os.Stderr, "%s: %s\n", [...]string{"debug", "info", "warn", "error"}[level], message)
}
