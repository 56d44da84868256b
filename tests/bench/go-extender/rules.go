package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
)

// maxScore is what a rule gives at most; a reply has a tenth of it.
const maxScore = 100

type kind int

const (
	fits kind = iota
	unschedulable
	unresolvable
)

// verdict says whether a node may have the pod.
type verdict struct {
	kind   kind
	reason string
}

// A rule is a filter, a scorer or a ranker, or several of them. Values that depend on the pod alone are worked
// out once for each request, and those that depend on the node alone (deriver) once for each node.
type (
	filter interface {
		filterFor(p *pod) func(n *node, derived any) verdict
	}
	scorer interface {
		scoreFor(p *pod) func(n *node, derived any) int64
	}
	ranker interface {
		rank(p *pod, nodes []*node) []int64
	}
	deriver interface {
		derive(n *node) any
	}
)

// member is a rule in the chain.
type member struct {
	name   string
	weight int64
	rule   any
}

type chain []member

// asked is a filter for one pod.
type asked struct {
	name string
	ask  func(n *node) verdict
	// reasons has the text of each reason; a rule has few of them for many nodes.
	reasons map[string]string
}

func (a *asked) reason(reason string) string {
	text, ok := a.reasons[reason]
	if !ok {
		text = a.name + ": " + reason
		a.reasons[reason] = text
	}
	return text
}

func (c chain) filtersFor(p *pod) []asked {
	var filters []asked
	for i := range c {
		if rule, ok := c[i].rule.(filter); ok {
			ask := rule.filterFor(p)
			filters = append(filters, asked{
				name:    c[i].name,
				ask:     func(n *node) verdict { return ask(n, n.derived[i]) },
				reasons: map[string]string{},
			})
		}
	}
	return filters
}

// scores returns the weighted mean of all scores and ranks, from 0 to 10, rounded half up.
func (c chain) scores(p *pod, nodes []*node) []int64 {
	totals, weights := make([]int64, len(nodes)), int64(0)
	for i := range c {
		weight := c[i].weight
		if rule, ok := c[i].rule.(scorer); ok {
			weights += weight
			score := rule.scoreFor(p)
			for at, n := range nodes {
				totals[at] += weight * score(n, n.derived[i])
			}
		}
		if rule, ok := c[i].rule.(ranker); ok {
			weights += weight
			for at, score := range rule.rank(p, nodes) {
				totals[at] += weight * score
			}
		}
	}
	if weights == 0 {
		return totals
	}
	for at, total := range totals {
		totals[at] = (total + 5*weights) / (10 * weights)
	}
	return totals
}

func readRules(file string) (chain, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	var listed []struct {
		Name, Rule string
		Weight     int64
		Settings   json.RawMessage
	}
	if err := json.Unmarshal(text, &listed); err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	var c chain
	for _, l := range listed {
		rule, err := newRule(l.Rule, l.Settings)
		if err != nil {
			return nil, fmt.Errorf("%s: %s: %w", file, l.Name, err)
		}
		c = append(c, member{name: l.Name, weight: l.Weight, rule: rule})
	}
	return c, nil
}

func newRule(rule string, settings json.RawMessage) (any, error) {
	switch rule {
	case "tenant-pool":
		return newTenantPool(settings)
	case "gpu-binpack":
		return newGPUBinpack(settings)
	case "warm-image":
		return newWarmImage(settings)
	case "zone-spread":
		return newZoneSpread(settings)
	default:
		return nil, fmt.Errorf("rule %q: expected tenant-pool, gpu-binpack, warm-image or zone-spread", rule)
	}
}

// readSettings fills the defaults that are given with what the settings say.
func readSettings(settings json.RawMessage, into any) error {
	if len(settings) == 0 {
		return nil
	}
	decoder := json.NewDecoder(bytes.NewReader(settings))
	decoder.DisallowUnknownFields()
	return decoder.Decode(into)
}
