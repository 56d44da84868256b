//go:build !wasip1

package plimsoll

import (
	"fmt"
	"os"

	"github.com/plimsoll/plimsoll/plugin-sdk/go/internal/bridge"
)

// hostCalls answers the reads of a test.
type hostCalls struct {
	hostReads
}

func init() {
	bridge.NewPod = func(host any) any { return Pod{callsOf(host)} }
	bridge.NewNodes = func(host any) any { return Nodes{callsOf(host)} }
	bridge.NewCandidates = func(host any) any { return candidates(callsOf(host)) }
	bridge.NewGroups = func(values []string, groups []uint32) any { return Groups{values, groups} }
}

// callsOf panics for a host that lacks a read.
func callsOf(host any) hostCalls {
	return hostCalls{host.(hostReads)}
}

// write shows a log line in the output of a test.
func write(level uint32, message string) {
	fmt.Fprintf(os.Stderr, "%s: %s\n", [...]string{"debug", "info", "warn", "error"}[level], message)
}
