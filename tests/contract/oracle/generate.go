package main

import (
	"fmt"
	"math/rand/v2"
	"strings"
)

type object = map[string]any

// The resources of containers; pod-level requests can have all but the last.
var resources = []string{"cpu", "memory", "hugepages-2Mi", "ephemeral-storage", "example.com/gpu"}

var images = []string{"nginx:latest", "nginx:1.27", "localhost:5000/web:latest", "registry.example.com/a/b:v1",
	"registry.example.com/a/b@sha256:01ab", "registry.example.com:443/c:latest"}

// Objects as people write them: valid for the API server, which has not seen them yet.
type generator struct{ *rand.Rand }

func (g generator) percent(percent int) bool { return g.IntN(100) < percent }

func pick[T any](g generator, of ...T) T { return of[g.IntN(len(of))] }

// A quantity; the API server takes only whole numbers of huge pages and devices.
func (g generator) amount(name string) any {
	switch {
	case strings.HasPrefix(name, "hugepages-"):
		return fmt.Sprintf("%dMi", 2*g.IntN(50))
	case name == "pods" || strings.Contains(name, "/"):
		return pick[any](g, g.IntN(8), fmt.Sprint(g.IntN(8)), "2e0", "1k", "+3")
	case g.percent(50):
		return pick(g, "100m", "250m", "1500m", "1", "2", "64Mi", "1Gi", "1.5Gi", "1G", "0", "0.5", "1.2")
	case g.percent(10):
		return pick[any](g, 2, 0.5, 1e3, 0.0001)
	}
	number := fmt.Sprint(g.Uint64N(pick[uint64](g, 9, 999, 99_999, 1<<40)))
	if g.percent(40) {
		number += "." + fmt.Sprint(g.Uint64N(pick[uint64](g, 9, 999, 1<<40)))
	}
	if g.percent(2) {
		number = strings.TrimPrefix(number, "0") + pick(g, "P", "E", "Pi", "Ei", "e18")
		return strings.Replace("0"+number, "0.", ".", g.IntN(2))
	}
	return number + pick(g, "", "", "n", "u", "m", "m", "k", "M", "G", "Ki", "Mi", "Gi", "e-1", "E-12", "e-40", "e2")
}

func (g generator) amounts(names []string) object {
	amounts := object{}
	for _, name := range names {
		if g.percent(45) {
			amounts[name] = g.amount(name)
		}
	}
	return amounts
}

func (g generator) pod(name string) object {
	spec, status := object{}, object{}
	for _, kind := range []string{"container", "initContainer"} {
		containers := make([]any, g.IntN(4))
		for at := range containers {
			container := object{"name": fmt.Sprint(kind, at), "image": strings.TrimSuffix(pick(g, images...), ":latest")}
			if g.percent(90) {
				container["resources"] = object{"requests": g.amounts(resources)}
			}
			if kind == "initContainer" && g.percent(50) {
				container["restartPolicy"] = "Always"
			}
			containers[at] = container
		}
		spec[kind+"s"] = containers
	}
	if g.percent(30) {
		spec["overhead"] = g.amounts(resources[:2])
	}
	if g.percent(25) {
		spec["resources"] = object{"requests": g.amounts(resources[:3])}
	}
	if g.percent(70) {
		spec["priority"] = g.IntN(2_000_001_000)
	}
	metadata := object{"name": name, "namespace": "default", "uid": name, "labels": object{}}
	if g.percent(90) {
		metadata["creationTimestamp"] = fmt.Sprintf("20%d-0%d-0%dT0%d:00:00", 10+g.IntN(30), 1+g.IntN(9), 1+g.IntN(9), g.IntN(9)) +
			pick(g, "Z", "+02:00")
	}
	owner := func(kind string, controls bool) object {
		return object{"apiVersion": "apps/v1", "kind": kind, "name": "own<er", "uid": "o", "controller": controls}
	}
	metadata["ownerReferences"] = []any{owner("Job", g.percent(30)), owner("ReplicaSet", g.percent(30))}
	status["phase"] = pick(g, "Pending", "Running", "Running", "Running", "Unknown", "Succeeded", "Failed")
	switch g.IntN(3) {
	case 0:
		g.statuses(spec, status, func(own object) object { return own })
	case 1:
		metadata["labels"] = object{"resizing": "true"}
		g.statuses(spec, status, func(object) object { return g.amounts(resources) })
		if g.percent(40) {
			reason := pick(g, "Infeasible", "Deferred")
			status["conditions"] = []any{object{"type": "Ready"}, object{"type": "PodResizePending", "reason": reason}}
		}
		if g.percent(40) {
			report(status, "resources", g.amounts(resources))
		}
		if g.percent(40) {
			report(status, "allocatedResources", g.amounts(resources))
		}
	}
	return object{"metadata": metadata, "spec": spec, "status": status}
}

// What the kubelet reports of the containers' resources, by what they request.
func (g generator) statuses(spec, status object, of func(object) object) {
	for _, kind := range []string{"container", "initContainer"} {
		var statuses []any
		for _, container := range spec[kind+"s"].([]any) {
			state := object{"name": container.(object)["name"], "ready": true}
			if own, has := container.(object)["resources"].(object); has {
				if g.percent(80) {
					report(state, "allocatedResources", of(own["requests"].(object)))
				}
				if g.percent(80) {
					report(state, "resources", of(own["requests"].(object)))
				}
			}
			statuses = append(statuses, state)
		}
		status[kind+"Statuses"] = statuses
	}
}

// No API server serves a list of resources that is empty.
func report(status object, key string, amounts object) {
	switch {
	case key == "resources" && len(amounts) > 0:
		status[key] = object{"requests": amounts}
	case key == "resources" || len(amounts) > 0:
		status[key] = amounts
	}
}

func (g generator) node() object {
	var listed []any
	for range g.IntN(6) {
		names := []string{pick(g, images...), pick(g, images...)}[:1+g.IntN(2)]
		listed = append(listed, object{"names": names, "sizeBytes": g.Int64N(1 << 35)})
	}
	all := append([]string{"pods"}, resources...)
	status := object{"allocatable": g.amounts(all), "capacity": g.amounts(all), "images": listed}
	return object{"metadata": object{"name": "n"}, "status": status}
}
