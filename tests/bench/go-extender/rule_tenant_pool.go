package main

import "encoding/json"

// tenantPool keeps a namespace's pods on the node pool of its tenant, and all others out of it.
type tenantPool struct {
	label  string
	pools  map[string]string
	owned  map[string]bool
	shared map[string]bool
}

func newTenantPool(text json.RawMessage) (*tenantPool, error) {
	settings := struct {
		Label  string
		Pools  map[string]string
		Shared []string
	}{Label: "example.com/pool"}
	if err := readSettings(text, &settings); err != nil {
		return nil, err
	}
	rule := &tenantPool{label: settings.Label, pools: settings.Pools, owned: map[string]bool{}, shared: map[string]bool{}}
	for _, pool := range settings.Pools {
		rule.owned[pool] = true
	}
	for _, pool := range settings.Shared {
		rule.shared[pool] = true
	}
	return rule, nil
}

func (r *tenantPool) filterFor(p *pod) func(*node, any) verdict {
	own, hasOwn := r.pools[p.namespace]
	return func(n *node, _ any) verdict {
		pool, hasPool := n.labels[r.label]
		switch {
		case hasPool && r.shared[pool], hasOwn && hasPool && own == pool:
			return verdict{}
		case hasOwn:
			return verdict{unresolvable, "node is outside the namespace's pool"}
		case hasPool && r.owned[pool]:
			return verdict{unresolvable, "node is in another tenant's pool"}
		default:
			return verdict{}
		}
	}
}
