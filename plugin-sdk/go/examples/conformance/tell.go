package main

import (
	"fmt"
	"strings"
	"time"

	"github.com/plimsoll/plimsoll/plugin-sdk/go/plimsoll"
)

func tellPod(pod plimsoll.Pod) lines {
	var own lines
	own.add("name", pod.Name())
	own.add("namespace", pod.Namespace())
	own.add("uid", pod.UID())
	own.add("label", some(pod.Label("a")))
	own.add("label-none", some(pod.Label("none")))
	own.add("annotation-empty", some(pod.Annotation("empty")))
	own.add("annotation-none", some(pod.Annotation("none")))
	own.add("priority", pod.Priority())
	own.add("priority-class", some(pod.PriorityClass()))
	own.add("controller", owner(pod.Controller()))
	own.add("created", unix(pod.Created()))
	own.add("request-cpu", pod.Request("cpu"))
	own.add("request-memory", pod.Request("memory"))
	own.add("request-none", pod.Request("none"))
	own.add("images", strings.Join(pod.Images(), " "))
	return own
}

func tellNode(node plimsoll.Node) lines {
	var own lines
	taint := func(own plimsoll.Taint) string { return own.Key + "=" + own.Value + ":" + own.Effect }
	own.add("name", node.Name())
	own.add("label", some(node.Label("é")))
	own.add("label-none", some(node.Label("none")))
	own.add("annotation", some(node.Annotation("a")))
	own.add("taints", joined(node.Taints(), taint))
	own.add("allocatable", node.Allocatable("cpu"))
	own.add("known", node.ResourceKnown("cpu"))
	own.add("known-device", node.ResourceKnown("example.com/gpu"))
	own.add("capacity", node.Capacity("cpu"))
	own.add("capacity-none", node.Capacity("none"))
	own.add("requested", some(node.Requested("memory")))
	own.add("requested-none", some(node.Requested("none")))
	own.add("image-size", some(node.ImageSize("web:1")))
	own.add("image-size-none", some(node.ImageSize("none")))
	own.add("condition", some(node.Condition("Ready")))
	own.add("condition-none", some(node.Condition("none")))
	own.add("unschedulable", node.Unschedulable())
	return own
}

func tellPlaced(node plimsoll.Node) lines {
	var own lines
	own.add("known", node.PlacedKnown())
	own.add("count-labelled", node.CountLabelled("web", "app", "web"))
	own.add("count-active", node.CountActive("web", "app", "web"))
	at := 0
	for pod := range node.Placed() {
		add := func(key string, value any) { own.add(fmt.Sprintf("%d.%s", at, key), value) }
		add("name", pod.Name())
		add("namespace", pod.Namespace())
		add("label", some(pod.Label("app")))
		add("annotation", some(pod.Annotation("a")))
		add("priority", pod.Priority())
		add("priority-class", some(pod.PriorityClass()))
		add("controller", owner(pod.Controller()))
		add("phase", some(pod.Phase()))
		add("terminating", pod.Terminating())
		add("request", pod.Request("memory"))
		add("created", unix(pod.Created()))
		at++
	}
	return own
}

func tellCluster(cluster plimsoll.Cluster) lines {
	var own lines
	all, smiling := plimsoll.Selector{}, plimsoll.Selector{NodeLabel: plimsoll.Pair{Key: "é", Value: "😀"}}
	web := plimsoll.Selector{Namespace: "web", Label: plimsoll.Pair{Key: "app", Value: "web"}}
	annotated := web
	annotated.Annotation = plimsoll.Pair{Key: "a", Value: "x"}
	own.add("count", some(cluster.Count(all)))
	own.add("count-web", some(cluster.Count(web)))
	own.add("count-annotated", some(cluster.Count(annotated)))
	own.add("count-up-to-1", some(cluster.CountUpTo(all, 1)))
	own.add("count-smiling", some(cluster.CountUpTo(smiling, 9)))
	own.add("at-least-2", some(cluster.AtLeast(all, 2)))
	own.add("at-least-4-web", some(cluster.AtLeast(web, 4)))
	own.add("requested", some(cluster.Requested(all, "memory")))
	own.add("requested-smiling", some(cluster.Requested(smiling, "memory")))
	own.add("nodes-with-label", some(cluster.NodesWithLabel("é", "😀")))
	values, ok := cluster.LabelValues("group")
	count := func(own plimsoll.LabelCount) string { return fmt.Sprintf("%s:%d", own.Value, own.Nodes) }
	own.add("label-values", some(joined(values, count), ok))
	return own
}

func tellNamespace(pod plimsoll.Pod) lines {
	var own lines
	own.add("known", pod.NamespaceKnown())
	own.add("label", some(pod.NamespaceLabel("tenant")))
	own.add("label-none", some(pod.NamespaceLabel("none")))
	return own
}

func tellFacts(node plimsoll.Node) lines {
	var own lines
	facts := node.Facts()
	own.add("text", some(facts.Text("prices", "note")))
	own.add("text-none", some(facts.Text("prices", "none")))
	own.add("number", thousandths(facts.Number("prices", "gpu")))
	own.add("number-negative", thousandths(facts.Number("prices", "loss")))
	own.add("number-of-text", thousandths(facts.Number("prices", "note")))
	own.add("node-text", some(node.FactText("load")))
	own.add("node-number", thousandths(node.FactNumber("load")))
	return own
}

func tellFields(pod plimsoll.Pod, node plimsoll.Node) lines {
	var own lines
	var priority int64
	var name string
	hasPriority, err := pod.Field("/spec/priority", &priority)
	own.add("priority", some(priority, hasPriority && err == nil))
	hasName, err := node.Field("/metadata/name", &name)
	own.add("name", some(name, hasName && err == nil))
	own.add("none", some(pod.FieldText("/none")))
	own.add("spec", some(node.FieldText("/spec")))
	return own
}

func tellLarge(node plimsoll.Node) lines {
	var own lines
	count, sum := 0, 0
	for range 20 {
		large, ok := node.Annotation("large")
		if ok {
			count++
		}
		for _, b := range []byte(large) {
			sum += int(b)
		}
	}
	own.add("count", count)
	own.add("sum", sum)
	own.add("label", some(node.Label("é")))
	return own
}

func tellTime(pod plimsoll.Pod) lines {
	var own lines
	own.add("now-0", pod.Now(0).Unix())
	own.add("now-60", pod.Now(time.Minute).Unix())
	own.add("now-3600", pod.Now(time.Hour).Unix())
	return own
}

// tellEviction tells the victims of a candidate, and the nodes of all candidates.
func tellEviction(candidate plimsoll.Candidate) lines {
	var own lines
	node := func(other plimsoll.Candidate) string { return other.Node().Name() }
	own.add("victims", joined(candidate.Victims(), plimsoll.Placed.Name))
	own.add("nodes", joined(candidate.All(), node))
	return own
}
