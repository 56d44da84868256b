// The sample policy tenant-pool in Go.
package main

import (
	"slices"
	"sync"
	"unsafe"

	"plimsoll.example/policies/plimsoll"
)

type settings struct {
	Label  string            `json:"label"`
	Pools  map[string]string `json:"pools"`
	Shared []string          `json:"shared"`
}

var read = sync.OnceValue(func() (s settings) {
	s.Label = "example.com/pool"
	plimsoll.Settings(&s)
	return s
})

func main() {}

//go:wasmexport plimsoll:policy/filter@0.1.0#filter
func filter(node uint32) unsafe.Pointer {
	s := read()
	pool, found := plimsoll.Label(node, s.Label)
	if found && slices.Contains(s.Shared, pool) {
		return plimsoll.Fits()
	}
	own, owns := s.Pools[plimsoll.Namespace()]
	switch {
	case owns && found && own == pool:
		return plimsoll.Fits()
	case owns:
		return plimsoll.Unresolvable("node is outside the namespace's pool")
	case found && s.owned(pool):
		return plimsoll.Unresolvable("node is in another tenant's pool")
	default:
		return plimsoll.Fits()
	}
}

func (s settings) owned(pool string) bool {
	for _, owned := range s.Pools {
		if owned == pool {
			return true
		}
	}
	return false
}
