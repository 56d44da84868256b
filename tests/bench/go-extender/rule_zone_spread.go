package main

import "encoding/json"

// zoneSpread spreads the pods of an application evenly over zones, or over any other node label.
type zoneSpread struct {
	TopologyKey, Label string
}

func newZoneSpread(text json.RawMessage) (*zoneSpread, error) {
	rule := &zoneSpread{TopologyKey: "topology.kubernetes.io/zone", Label: "app"}
	return rule, readSettings(text, rule)
}

func (r *zoneSpread) rank(p *pod, nodes []*node) []int64 {
	scores := make([]int64, len(nodes))
	value, ok := p.labels[r.Label]
	if !ok {
		return scores
	}
	pods := map[string]int64{}
	for _, n := range nodes {
		zone, ok := n.labels[r.TopologyKey]
		if !ok {
			continue
		}
		count := int64(0)
		for _, placed := range n.placed {
			if own, ok := placed.labels[r.Label]; ok && own == value && placed.namespace == p.namespace {
				count++
			}
		}
		pods[zone] += count
	}
	most, fewest := int64(0), int64(-1)
	for _, count := range pods {
		most = max(most, count)
		if fewest < 0 || count < fewest {
			fewest = count
		}
	}
	for i, n := range nodes {
		zone, ok := n.labels[r.TopologyKey]
		switch {
		case !ok:
		case most == 0:
			scores[i] = maxScore
		default:
			scores[i] = (most + fewest - pods[zone]) * maxScore / most
		}
	}
	return scores
}
