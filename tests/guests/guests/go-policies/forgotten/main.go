// A policy with two verbs that exports one of them.
package main

import (
	"github.com/plimsoll/plimsoll/plugin-sdk/go/filter"
	"github.com/plimsoll/plimsoll/plugin-sdk/go/plimsoll"
)

// Forgotten is the policy.
type Forgotten struct{}

// Filter is exported.
func (*Forgotten) Filter(plimsoll.Pod, plimsoll.Node) plimsoll.Verdict {
	return plimsoll.Fits()
}

// Score is not.
func (*Forgotten) Score(plimsoll.Pod, plimsoll.Node) uint32 {
	return 100
}

func init() { filter.Export(&Forgotten{}) }

func main() {}
