package main

import (
	"fmt"
	"testing"

	"github.com/plimsoll/plimsoll/plugin-sdk/go/plimsoll"
	"github.com/plimsoll/plimsoll/plugin-sdk/go/plimsolltest"
)

const (
	taken       = "all seats of the licence are taken"
	takenInPool = "all seats of the licence are taken in the node's pool"
	notKnown    = "the seats that are taken are not known: the gateway has no view of the cluster"
)

func policy(t *testing.T, settings string) *LicenceSeats {
	t.Helper()
	policy := newPolicy()
	if err := plimsolltest.Settings(policy, settings); err != nil {
		t.Fatal(err)
	}
	return policy
}

func licensed(name, licence string) plimsolltest.Pod {
	return plimsolltest.Pod{Name: name, Labels: map[string]string{"example.com/licence": licence}}
}

// world has two nodes in the pool lab, one in the pool office, and one in none.
func world(pod plimsolltest.Pod, onLab, onOffice []plimsolltest.Pod) plimsolltest.World {
	node := func(name, pool string, pods []plimsolltest.Pod) plimsolltest.Node {
		return plimsolltest.Node{Name: name, Labels: map[string]string{"pool": pool}, Pods: pods}
	}
	return plimsolltest.World{Pod: pod, Nodes: []plimsolltest.Node{
		node("lab-1", "lab", onLab), node("lab-2", "lab", nil), node("office", "office", onOffice), {Name: "bare"},
	}}
}

func expect(t *testing.T, world plimsolltest.World, policy *LicenceSeats, verdicts map[string]plimsoll.Verdict) {
	t.Helper()
	for node, expected := range verdicts {
		if verdict := world.Filter(policy, node); verdict != expected {
			t.Errorf("%s: %s, expected %s", node, verdict, expected)
		}
	}
}

func TestSeatsAreCountedInThePoolAndNotOnTheNode(t *testing.T) {
	onLab := []plimsolltest.Pod{licensed("a", "matlab"), licensed("b", "matlab")}
	onOffice := []plimsolltest.Pod{licensed("c", "matlab"), licensed("d", "ansys")}
	expect(t, world(licensed("p", "matlab"), onLab, onOffice), policy(t, `{"pool": "pool", "seats": {"matlab": 2}}`),
		map[string]plimsoll.Verdict{
			"lab-1":  plimsoll.Unschedulable(takenInPool),
			"lab-2":  plimsoll.Unschedulable(takenInPool),
			"office": plimsoll.Fits(),
			"bare":   plimsoll.Unresolvable("node is in no pool of licences"),
		})
}

func TestWithoutPoolsTheWholeClusterIsCounted(t *testing.T) {
	world := world(licensed("p", "matlab"), []plimsolltest.Pod{licensed("a", "matlab")}, []plimsolltest.Pod{licensed("b", "matlab")})
	expect(t, world, policy(t, `{"seats": {"matlab": 2}}`), map[string]plimsoll.Verdict{
		"lab-2": plimsoll.Unschedulable(taken), "bare": plimsoll.Unschedulable(taken),
	})
	expect(t, world, policy(t, `{"seats": {"matlab": 3}}`), map[string]plimsoll.Verdict{
		"lab-2": plimsoll.Fits(), "bare": plimsoll.Fits(),
	})
}

func TestALicenceMayBeNamedInAnAnnotation(t *testing.T) {
	annotated := func(name string) plimsolltest.Pod {
		return plimsolltest.Pod{Name: name, Annotations: map[string]string{"licence": "ansys"}}
	}
	world := world(annotated("p"), []plimsolltest.Pod{annotated("a")}, nil)
	settings := `{"key": "licence", "in": "annotation", "seats": {"ansys": %d}}`
	expect(t, world, policy(t, fmt.Sprintf(settings, 1)), map[string]plimsoll.Verdict{"office": plimsoll.Unschedulable(taken)})
	expect(t, world, policy(t, fmt.Sprintf(settings, 2)), map[string]plimsoll.Verdict{"office": plimsoll.Fits()})
}

func TestAPodWithoutALicenceRunsAnywhereAndOneWithAnUnknownLicenceNowhere(t *testing.T) {
	policy := policy(t, `{"seats": {"matlab": 0}}`)
	expect(t, world(plimsolltest.Pod{Name: "p"}, nil, nil), policy, map[string]plimsoll.Verdict{"lab-1": plimsoll.Fits()})
	expect(t, world(licensed("p", "word"), nil, nil), policy, map[string]plimsoll.Verdict{
		"lab-1": plimsoll.Unresolvable("the pod's licence is unknown"),
	})
	expect(t, world(licensed("p", "matlab"), nil, nil), policy, map[string]plimsoll.Verdict{
		"lab-1": plimsoll.Unschedulable(taken),
	})
}

func TestSeatsThatAreNotKnownAreNotGivenAway(t *testing.T) {
	world := world(licensed("p", "matlab"), nil, nil)
	world.WithoutCluster = true
	policy := policy(t, `{"seats": {"matlab": 40}}`)
	expect(t, world, policy, map[string]plimsoll.Verdict{"lab-1": plimsoll.Unresolvable(notKnown)})
	if _, err := world.Bind(policy, "lab-1"); err == nil || err.Error() != notKnown {
		t.Error(err)
	}
}

func TestABindRecordsTheSeatOrRefusesThePod(t *testing.T) {
	for _, test := range []struct{ settings, node, record, refusal string }{
		{`{"pool": "pool", "seats": {"matlab": 1}, "record": "seat"}`, "office", "matlab/office", ""},
		{`{"pool": "pool", "seats": {"matlab": 1}, "record": "seat"}`, "lab-2", "", takenInPool},
		{`{"seats": {"matlab": 2}, "record": "seat"}`, "lab-2", "matlab", ""},
		{`{"seats": {"matlab": 2}}`, "lab-2", "", ""},
	} {
		metadata, err := world(licensed("p", "matlab"), []plimsolltest.Pod{licensed("a", "matlab")}, nil).
			Bind(policy(t, test.settings), test.node)
		refusal := ""
		if err != nil {
			refusal = err.Error()
		}
		if metadata.Annotations["seat"] != test.record || refusal != test.refusal {
			t.Errorf("%s, %s: %v, %q", test.settings, test.node, metadata, refusal)
		}
	}
}

func TestSettingsThatMakeNoSenseAreRefused(t *testing.T) {
	for settings, expected := range map[string]string{
		`null`:                                   "seats: expected at least one licence, as in {matlab: 40}",
		`{"seats": {"ansys": 4, "matlab": -1}}`:  "seats.matlab: expected a whole number from 0 to 18446744073709551615, found -1",
		`{"seats": {"matlab": 1}, "in": "name"}`: `in: expected label or annotation, found "name"`,
		`{"seats": {"matlab": 1}, "key": ""}`:    "key: it is empty",
		`{"seat": {"matlab": 1}}`:                "there is no field seat; expected key, in, pool, seats, record",
	} {
		if err := plimsolltest.Settings(newPolicy(), settings); err == nil || err.Error() != expected {
			t.Errorf("%s: got %v", settings, err)
		}
	}
}
