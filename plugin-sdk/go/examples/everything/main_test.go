package main

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/plimsoll/plimsoll/plugin-sdk/go/plimsoll"
	"github.com/plimsoll/plimsoll/plugin-sdk/go/plimsolltest"
)

var noon = time.Date(2026, 1, 31, 12, 0, 0, 0, time.UTC)

// world is that of tests/policies/tests/policies/everything.rs.
func world() plimsolltest.World {
	return plimsolltest.World{
		Pod: plimsolltest.Pod{
			Name:          "p",
			Namespace:     "web",
			Labels:        map[string]string{"a": "ä"},
			Annotations:   map[string]string{"empty": ""},
			Priority:      -5,
			PriorityClass: "low",
			Controller:    &plimsoll.Owner{APIVersion: "batch/v1", Kind: "Job", Name: "é", UID: "Job/é"},
			Created:       noon,
			Requests:      plimsolltest.Resources{"cpu": "1500m", "memory": "1Gi"},
			Images:        []string{"web:1", "proxy"},
		},
		Nodes: []plimsolltest.Node{
			{
				Name:          "node-1",
				Labels:        map[string]string{"é": "😀"},
				Annotations:   map[string]string{"a": "1", "large": strings.Repeat("é", 3000), "score": "100"},
				Taints:        []plimsoll.Taint{{Key: "k", Value: "v", Effect: "NoSchedule"}, {Key: "l", Effect: "NoExecute"}},
				Allocatable:   plimsolltest.Resources{"cpu": "4"},
				Capacity:      plimsolltest.Resources{"cpu": "5"},
				Conditions:    map[string]string{"Ready": "Unknown"},
				Unschedulable: true,
				Images:        map[string]uint64{"web:1": 1<<32 + 4},
				Pods: []plimsolltest.Pod{
					{
						Name:          "b",
						Namespace:     "web",
						Labels:        map[string]string{"app": "web"},
						Annotations:   map[string]string{"a": "x"},
						Priority:      1<<31 - 1,
						Requests:      plimsolltest.Resources{"memory": "6Gi"},
						Created:       noon,
						PriorityClass: "high",
						Controller: &plimsoll.Owner{
							APIVersion: "apps/v1", Kind: "ReplicaSet", Name: "b-5d7", UID: "ReplicaSet/b-5d7",
						},
						Phase: "Running",
					},
					{Name: "c", Namespace: "web", Labels: map[string]string{"app": "web"}},
				},
			},
			{Name: "node-2", Annotations: map[string]string{"verdict": "fits", "score": "7"}},
			{Name: "node-3", Annotations: map[string]string{"verdict": "unresolvable"}},
		},
		Now: time.Unix(1_769_864_399, 0),
	}
}

// The file has the answers of the Rust SDK, and of both in WebAssembly: tests/policies compares them.
func TestEveryReadGivesWhatTheHostGives(t *testing.T) {
	answers, err := os.ReadFile("testdata/answers.txt")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(answers)) {
		topic, answer, _ := strings.Cut(strings.TrimSuffix(line, "\n"), ": ")
		verdict := world().Filter(&Everything{topic}, "node-1")
		if verdict != plimsoll.Unschedulable(answer) {
			t.Errorf("%s:\n got %s\nwant unschedulable: %s", topic, verdict, answer)
		}
	}
}

func TestWithoutAViewOfTheClusterEveryReadOfItIsNone(t *testing.T) {
	none := "(None, None, None) (None, None, None) (None, None) (None, None) None"
	without := world()
	without.WithoutCluster = true
	if verdict := without.Filter(&Everything{"cluster"}, "node-1"); verdict.Reason() != none {
		t.Error(verdict)
	}
	without = world()
	without.WithoutPods = true
	if verdict := without.Filter(&Everything{"placed"}, "node-1"); verdict.Reason() != "[] false 0" {
		t.Error(verdict)
	}
}

func TestEveryKindOfAnswerIsThatOfTheNode(t *testing.T) {
	policy := &Everything{"time"}
	if verdict := world().Filter(policy, "node-2"); !verdict.IsFit() {
		t.Error(verdict)
	}
	if verdict := world().Filter(policy, "node-3"); verdict != plimsoll.Unresolvable("a text that is not allocated") {
		t.Error(verdict)
	}
	if score := world().Score(policy, "node-1"); score != 100 {
		t.Error(score)
	}
	if scores := world().Rank(policy); scores["node-1"] != 100 || scores["node-2"] != 7 || scores["node-3"] != 0 {
		t.Error(scores)
	}
}

func TestARankSeesAllNodesAtOnce(t *testing.T) {
	node := func(name, group string, pods ...plimsolltest.Pod) plimsolltest.Node {
		annotations := map[string]string{"score": "5"}
		return plimsolltest.Node{Name: name, Labels: map[string]string{"group": group}, Annotations: annotations, Pods: pods}
	}
	web := func(name string) plimsolltest.Pod {
		return plimsolltest.Pod{Name: name, Namespace: "web", Labels: map[string]string{"app": "web"}}
	}
	world := plimsolltest.World{Pod: plimsolltest.Pod{Name: "p"}, Nodes: []plimsolltest.Node{
		node("node-1", "other", web("a")),
		node("node-2", "best", web("b"), web("c")),
		{Name: "node-3"},
		node("node-4", "best", plimsolltest.Pod{Name: "d", Namespace: "web"}),
	}}
	scores := world.Rank(&Everything{"pod"})
	if scores["node-1"] != 5 || scores["node-2"] != 7 || scores["node-3"] != 0 || scores["node-4"] != 5 {
		t.Error(scores)
	}
}

func TestEveryKindOfPreemption(t *testing.T) {
	victims := []string{"web/b", "web/c"}
	for _, row := range []struct {
		node       string
		candidates []plimsolltest.Candidate
		expected   string
	}{
		{"node-3", []plimsolltest.Candidate{{Node: "node-3"}}, "keep"},
		{"node-1", []plimsolltest.Candidate{{Node: "node-1", Victims: victims, PDBViolations: 1}}, "replace: [0]"},
		{"node-1", []plimsolltest.Candidate{{Node: "node-3"}, {Node: "node-1", Victims: victims, PDBViolations: 2}},
			`reject: ["b", "c"] of ["node-3", "node-1"]`},
	} {
		world := world()
		world.Candidates = row.candidates
		if decision := world.Preempt(&Everything{"pod"}, row.node); decision.String() != row.expected {
			t.Errorf("got %s, want %s", decision, row.expected)
		}
	}
}

func TestABindGivesMetadataOrSaysWhyNot(t *testing.T) {
	bound := world()
	bound.Nodes[1].Annotations["bind"] = "é"
	metadata, err := bound.Bind(&Everything{"pod"}, "node-2")
	if err != nil || metadata.Annotations["node"] != "node-2" || metadata.Labels["rack"] != "r1" {
		t.Error(metadata, err)
	}
	if _, err := bound.Bind(&Everything{"pod"}, "node-1"); err == nil || err.Error() != "p cannot be bound" {
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
		err := plimsolltest.Settings(&Everything{}, settings)
		if err == nil || !strings.HasPrefix(err.Error(), expected) {
			t.Errorf("%s: got %v, want %s", settings, err, expected)
		}
	}
	if err := plimsolltest.Settings(&Everything{}, `{"topic": "pod"}`); err != nil {
		t.Error(err)
	}
}
