package main

import (
	"testing"

	"github.com/plimsoll/plimsoll/plugin-sdk/go/plimsoll"
	"github.com/plimsoll/plimsoll/plugin-sdk/go/plimsolltest"
)

func policy(t *testing.T, settings string) *NeedsLabel {
	t.Helper()
	policy := &NeedsLabel{Annotation: "example.com/needs", Spare: plimsoll.MustQuantity("16Gi")}
	if err := plimsolltest.Settings(policy, settings); err != nil {
		t.Fatal(err)
	}
	return policy
}

func world() plimsolltest.World {
	return plimsolltest.World{
		Pod: plimsolltest.Pod{Name: "p", Annotations: map[string]string{"example.com/needs": "ssd"}},
		Nodes: []plimsolltest.Node{
			{
				Name:        "fast",
				Labels:      map[string]string{"ssd": "true"},
				Allocatable: plimsolltest.Resources{"memory": "16Gi"},
				Pods:        []plimsolltest.Pod{{Name: "a", Requests: plimsolltest.Resources{"memory": "8Gi"}}},
			},
			{Name: "slow", PodsUnknown: true, Allocatable: plimsolltest.Resources{"memory": "4Gi"}},
		},
	}
}

func TestANodeWithoutTheLabelIsRefused(t *testing.T) {
	policy := policy(t, "null")
	if verdict := world().Filter(policy, "fast"); !verdict.IsFit() {
		t.Error(verdict)
	}
	expected := plimsoll.Unresolvable("node lacks the label that the pod needs")
	if verdict := world().Filter(policy, "slow"); verdict != expected {
		t.Error(verdict)
	}
	if verdict := world().Filter(&NeedsLabel{Annotation: "other"}, "slow"); !verdict.IsFit() {
		t.Error(verdict)
	}
}

func TestANodeWithSpareMemoryIsPreferredAndOneWithUnknownPodsIsNot(t *testing.T) {
	if score := world().Score(policy(t, "null"), "fast"); score != 50 {
		t.Error(score)
	}
	if score := world().Score(policy(t, `{"spare": "4Gi"}`), "fast"); score != 100 {
		t.Error(score)
	}
	if score := world().Score(policy(t, "null"), "slow"); score != 0 {
		t.Error(score)
	}
}

func TestSettingsThatMakeNoSenseAreRefused(t *testing.T) {
	for settings, expected := range map[string]string{
		`{"annotation": ""}`:              "annotation: it is empty",
		`{"spare": "lots"}`:               `spare: expected a quantity such as 512Mi, found "lots"`,
		`{"annotation": "a", "spare": 0}`: "spare: it must be above 0",
		`{"spar": 1}`:                     "there is no field spar; expected annotation, spare",
	} {
		if err := plimsolltest.Settings(&NeedsLabel{}, settings); err == nil || err.Error() != expected {
			t.Errorf("%s: got %v", settings, err)
		}
	}
}
