package main

import (
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/plimsoll/plimsoll/plugin-sdk/go/plimsoll"
	"github.com/plimsoll/plimsoll/plugin-sdk/go/plimsolltest"
)

var (
	noon = time.Date(2026, 1, 31, 12, 0, 0, 0, time.UTC)
	web  = map[string]string{"app": "web"}
)

// world is that of plugin-sdk/conformance/world.yaml.
func world() plimsolltest.World {
	return plimsolltest.World{
		Pod: plimsolltest.Pod{
			Name:          "p",
			Namespace:     "web",
			UID:           "uid-p",
			Labels:        map[string]string{"a": "ä", "pool": "blue"},
			Annotations:   map[string]string{"empty": ""},
			Priority:      -5,
			PriorityClass: "low",
			Controller:    &plimsoll.Owner{APIVersion: "batch/v1", Kind: "Job", Name: "é", UID: "uid-é"},
			Created:       noon,
			Requests:      plimsolltest.Resources{"cpu": "1500m", "memory": "1Gi"},
			Images:        []string{"web:1", "proxy"},
		},
		Nodes: []plimsolltest.Node{
			firstNode(),
			{
				Name:        "node-2",
				Labels:      map[string]string{"group": "best"},
				Annotations: map[string]string{"verdict": "fits", "score": "7", "bind": "later"},
				Pods:        []plimsolltest.Pod{{Name: "d", Namespace: "web", Labels: web, Terminating: true}},
			},
			{Name: "node-3", Annotations: map[string]string{"verdict": "unresolvable", "bind": "nothing"}},
			{
				Name:        "node-4",
				Labels:      map[string]string{"group": "best", "pool": "red"},
				Annotations: map[string]string{"score": "5", "bind": "é\n😀"},
				Pods: []plimsolltest.Pod{
					{Name: "e", Namespace: "other", Labels: web, Requests: plimsolltest.Resources{"memory": "1Gi"}},
				},
			},
		},
		Candidates: []plimsolltest.Candidate{
			{Node: "node-3"},
			{Node: "node-1", Victims: []string{"web/b", "web/c"}, PDBViolations: 1},
			{Node: "node-2", Victims: []string{"web/d"}, PDBViolations: 2},
		},
		Namespaces: map[string]map[string]string{"web": {"tenant": "a"}},
		Facts: map[string]map[string]string{
			"load":   {"node-1": "0.5"},
			"prices": {"gpu": "3.25", "loss": "-0.125", "note": "é"},
		},
		Now: time.Unix(1_769_864_399, 0),
	}
}

func firstNode() plimsolltest.Node {
	return plimsolltest.Node{
		Name:             "node-1",
		Labels:           map[string]string{"é": "😀", "group": "other", "pool": "blue"},
		Annotations:      map[string]string{"a": "1", "large": strings.Repeat("é", 3000), "score": "100"},
		Taints:           []plimsoll.Taint{{Key: "k", Value: "v", Effect: "NoSchedule"}, {Key: "l", Effect: "NoExecute"}},
		Allocatable:      plimsolltest.Resources{"cpu": "4"},
		Capacity:         plimsolltest.Resources{"cpu": "5"},
		Conditions:       map[string]string{"Ready": "Unknown"},
		Unschedulable:    true,
		ResourcesUnknown: []string{"example.com/gpu"},
		Images:           map[string]uint64{"web:1": 1<<32 + 4},
		Pods: []plimsolltest.Pod{
			{
				Name:          "b",
				Namespace:     "web",
				Labels:        web,
				Annotations:   map[string]string{"a": "x"},
				Priority:      1<<31 - 1,
				Requests:      plimsolltest.Resources{"memory": "6Gi"},
				Created:       noon,
				PriorityClass: "high",
				Controller:    &plimsoll.Owner{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: "b-5d7", UID: "uid-b"},
				Phase:         "Running",
			},
			{Name: "c", Namespace: "web", Labels: web, Terminating: true},
		},
	}
}

// expect compares a reason with a file of plugin-sdk/conformance/answers, which has what the module answers.
func expect(t *testing.T, world plimsolltest.World, topic, file string) {
	t.Helper()
	answer, err := os.ReadFile("../../../conformance/answers/" + file + ".txt")
	if err != nil {
		t.Fatal(err)
	}
	verdict := world.Filter(&Conformance{topic}, "node-1")
	if expected := strings.TrimSuffix(string(answer), "\n"); verdict != plimsoll.Unschedulable(expected) {
		t.Errorf("%s:\n got %s\nwant unschedulable: %s", topic, verdict, expected)
	}
}

func TestEveryReadGivesWhatTheHostGives(t *testing.T) {
	for _, topic := range []string{"pod", "node", "placed", "cluster", "namespace", "facts", "field", "large", "time"} {
		expect(t, world(), topic, topic)
	}
}

func TestWithoutAViewOfTheClusterEveryReadOfItIsNone(t *testing.T) {
	without := world()
	without.WithoutCluster = true
	expect(t, without, "cluster", "cluster-unknown")
	without = world()
	without.WithoutPods = true
	expect(t, without, "placed", "placed-unknown")
	without = world()
	without.Namespaces = nil
	expect(t, without, "namespace", "namespace-unknown")
}

func TestEveryKindOfAnswerIsThatOfTheNode(t *testing.T) {
	policy := &Conformance{"pool"}
	for node, expected := range map[string]plimsoll.Verdict{
		"node-1": plimsoll.Fits(),
		"node-2": plimsoll.Fits(),
		"node-3": plimsoll.Unresolvable("eviction does not help"),
		"node-4": plimsoll.Unschedulable("another pool"),
	} {
		if verdict := world().Filter(policy, node); verdict != expected {
			t.Errorf("%s: got %s, want %s", node, verdict, expected)
		}
	}
	if score := world().Score(policy, "node-1"); score != 100 {
		t.Error(score)
	}
}

func TestARankSeesAllNodesAtOnce(t *testing.T) {
	scores := world().Rank(&Conformance{"pod"})
	if scores["node-1"] != 100 || scores["node-2"] != 8 || scores["node-3"] != 0 || scores["node-4"] != 5 {
		t.Error(scores)
	}
}

func TestEveryKindOfPreemption(t *testing.T) {
	for node, expected := range map[string]string{
		"node-3": "keep",
		"node-1": "replace: [0]",
		"node-2": "reject: victims=d\nnodes=node-3 node-1 node-2",
	} {
		if decision := world().Preempt(&Conformance{"pod"}, node); decision.String() != expected {
			t.Errorf("%s: got %s, want %s", node, decision, expected)
		}
	}
}

func TestABindGivesMetadataOrSaysWhyNot(t *testing.T) {
	policy := &Conformance{"pod"}
	metadata, err := world().Bind(policy, "node-4")
	if err != nil || metadata.Annotations["node"] != "node-4" || metadata.Labels["rack"] != "r1" {
		t.Error(metadata, err)
	}
	var retry *plimsoll.RetryError
	if _, err := world().Bind(policy, "node-2"); !errors.As(err, &retry) {
		t.Error(err)
	}
	if _, err := world().Bind(policy, "node-1"); err == nil || err.Error() != "p cannot be bound" {
		t.Error(err)
	}
}

func TestSettingsAreRefusedWithTheirPlace(t *testing.T) {
	for settings, expected := range map[string]string{
		"null":                      "the field topic is missing",
		`{"topic": "pods"}`:         `topic: expected one of pod, node, `,
		`{"topic": 5}`:              "topic: expected a string, found a number",
		`{"topic": "pod", "to": 1}`: "there is no field to; expected topic",
		`{"topic": "refused"}`:      "topic: é is refused",
		`["pod"]`:                   "the settings: expected an object, found a list",
	} {
		err := plimsolltest.Settings(&Conformance{}, settings)
		if err == nil || !strings.HasPrefix(err.Error(), expected) {
			t.Errorf("%s: got %v, want %s", settings, err, expected)
		}
	}
	if err := plimsolltest.Settings(&Conformance{}, `{"topic": "pod"}`); err != nil {
		t.Error(err)
	}
}
