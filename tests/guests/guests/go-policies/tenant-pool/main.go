// The sample policy tenant-pool in Go.
package main

import (
	"slices"

	"github.com/plimsoll/plimsoll/plugin-sdk/go/filter"
	"github.com/plimsoll/plimsoll/plugin-sdk/go/plimsoll"
)

// TenantPool keeps the pods of a namespace in its pool of nodes, and all others out of it.
type TenantPool struct {
	Label  string            `json:"label"`
	Pools  map[string]string `json:"pools"`
	Shared []string          `json:"shared"`
}

// Filter compares the pool of the node with that of the namespace.
func (t *TenantPool) Filter(pod plimsoll.Pod, node plimsoll.Node) plimsoll.Verdict {
	pool, found := node.Label(t.Label)
	if found && slices.Contains(t.Shared, pool) {
		return plimsoll.Fits()
	}
	own, owns := t.Pools[pod.Namespace()]
	switch {
	case owns && found && own == pool:
		return plimsoll.Fits()
	case owns:
		return plimsoll.Unresolvable("node is outside the namespace's pool")
	case found && t.isOwned(pool):
		return plimsoll.Unresolvable("node is in another tenant's pool")
	}
	return plimsoll.Fits()
}

func (t *TenantPool) isOwned(pool string) bool {
	for _, owned := range t.Pools {
		if owned == pool {
			return true
		}
	}
	return false
}

func init() { filter.Export(&TenantPool{Label: "example.com/pool"}) }

func main() {}
