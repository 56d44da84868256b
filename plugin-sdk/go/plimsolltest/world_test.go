//go:build !wasip1

package plimsolltest

import (
	"slices"
	"strings"
	"testing"

	"github.com/plimsoll/plimsoll/plugin-sdk/go/plimsoll"
)

// ask is a filter that is a function.
type ask func(pod plimsoll.Pod, node plimsoll.Node) plimsoll.Verdict

func (a ask) Filter(pod plimsoll.Pod, node plimsoll.Node) plimsoll.Verdict {
	return a(pod, node)
}

func panicOf(call func()) (text string) {
	defer func() { text, _ = recover().(string) }()
	call()
	return ""
}

func TestAReadThatTheGatewayRefusesPanicsWithItsWords(t *testing.T) {
	host := newHost(World{Pod: Pod{Name: "p"}, Nodes: []Node{{Name: "n"}}}, []Node{{Name: "n"}})
	for expected, read := range map[string]func(){
		"there is no node 1; the request has 1":       func() { host.NodesName(1) },
		"there is no placed pod 0; the request has 0": func() { host.PlacedName(0, 0) },
		"there is no candidate 0; the request has 0":  func() { host.CandidatesVictims(0) },
	} {
		if text := panicOf(read); text != expected {
			t.Errorf("got %q, want %q", text, expected)
		}
	}
}

func TestAWorldThatCannotBeSaysWhy(t *testing.T) {
	fits := ask(func(plimsoll.Pod, plimsoll.Node) plimsoll.Verdict { return plimsoll.Fits() })
	for expected, world := range map[string]World{
		`the test asks about the node "n"; there is no such node`: {},
		`the node n, cpu: "lots" is no quantity`:                  {Nodes: []Node{{Name: "n", Capacity: Resources{"cpu": "lots"}}}},
	} {
		if text := panicOf(func() { world.Filter(fits, "n") }); text != expected {
			t.Errorf("got %q, want %q", text, expected)
		}
	}
}

func TestFieldsAreThoseOfTheObjectWithoutAHeartbeat(t *testing.T) {
	node := Node{Name: "n", Labels: map[string]string{"a/b": "<x>"}, Object: `{
		"kind": "Node", "metadata": {"resourceVersion": "7", "generation": 12345678901234567890},
		"status": {"nodeInfo": {"kernelVersion": "6.1"}, "conditions": [{"type": "Ready", "lastHeartbeatTime": "t"}]}}`}
	world := World{Pod: Pod{Name: "p", Object: `{"spec": {"schedulerName": "mine"}}`}, Nodes: []Node{node}}
	world.Filter(ask(func(pod plimsoll.Pod, node plimsoll.Node) plimsoll.Verdict {
		for pointer, expected := range map[string]string{
			"/metadata/labels/a~1b":              `"<x>"`,
			"/metadata/generation":               "12345678901234567890",
			"/metadata/resourceVersion":          "",
			"/status/nodeInfo/kernelVersion":     `"6.1"`,
			"/status/conditions/0":               `{"type":"Ready"}`,
			"/status/conditions/00":              "",
			"/status/conditions/1":               "",
			"status":                             "",
			"/kind":                              "",
			"/status/nodeInfo/kernelVersion/too": "",
		} {
			if text, _ := node.FieldText(pointer); text != expected {
				t.Errorf("%s: got %q, want %q", pointer, text, expected)
			}
		}
		var scheduler string
		if ok, err := pod.Field("/spec/schedulerName", &scheduler); !ok || err != nil || scheduler != "mine" {
			t.Error(scheduler, ok, err)
		}
		var number int
		ok, err := pod.Field("/spec/schedulerName", &number)
		if !ok || err == nil || !strings.HasPrefix(err.Error(), "/spec/schedulerName: ") {
			t.Error(ok, err)
		}
		return plimsoll.Fits()
	}), "n")
}

func TestThePodOfTheRequestAndFinishedPodsDoNotCount(t *testing.T) {
	world := World{Pod: Pod{Name: "p"}, Nodes: []Node{
		{Name: "n", Pods: []Pod{{Name: "p"}, {Name: "a", Phase: "Running"}, {Name: "b", Phase: "Failed"}}},
	}}
	world.Filter(ask(func(_ plimsoll.Pod, node plimsoll.Node) plimsoll.Verdict {
		if count, ok := node.Cluster().Count(plimsoll.Selector{}); !ok || count != 1 || node.PlacedCount() != 1 {
			t.Error(count, ok, node.PlacedCount())
		}
		return plimsoll.Fits()
	}), "n")
}

func TestAPodThatTerminatesIsNotActive(t *testing.T) {
	web := map[string]string{"app": "web"}
	nodes := []Node{{Name: "n", Pods: []Pod{{Name: "a", Labels: web}, {Name: "b", Labels: web, Terminating: true}}}, {Name: "m"}}
	host := newHost(World{Nodes: nodes}, nodes)
	counts := host.PlacedCountsActive("default", "app", "web")
	if one := host.PlacedCountActive(0, "default", "app", "web"); one != 1 || !slices.Equal(counts, []uint32{1, 0}) {
		t.Error(one, counts)
	}
	if all := host.PlacedCountsLabelled("default", "app", "web"); !slices.Equal(all, []uint32{2, 0}) || !host.PlacedTerminating(0, 1) {
		t.Error(all)
	}
}

func TestAFactAboutANodeHasItsNameOrOneOfItsAddresses(t *testing.T) {
	nodes := []Node{
		{Name: "n0", Addresses: []string{"10.0.0.1", "n0.example"}},
		{Name: "n1", Addresses: []string{"n1", "10.0.0.2"}},
		{Name: "n2"},
	}
	facts := map[string]map[string]string{"load": {"n0.example": "1", "n1": "2", "10.0.0.2": "3"}}
	host := newHost(World{Nodes: nodes, Facts: facts}, nodes)
	for node, expected := range []float64{1, 2, 0} {
		number, ok := host.FactsNodeNumber(uint32(node), "load")
		text, hasText := host.FactsNodeText(uint32(node), "load")
		if number != expected || ok != (expected > 0) || hasText != ok || ok && text == "" {
			t.Errorf("node %d: %v, %q", node, number, text)
		}
	}
	addresses, _ := host.NodesField(0, "/status/addresses/1")
	if addresses != `{"address":"n0.example","type":"InternalIP"}` {
		t.Error(addresses)
	}
}
