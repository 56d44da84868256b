package main

import (
	"fmt"
	"time"

	"github.com/plimsoll/plimsoll/plugin-sdk/go/plimsoll"
)

const minute = time.Minute

func tellPod(pod plimsoll.Pod) string {
	texts := tuple(pod.Name(), pod.Namespace(), pod.UID(), some(pod.Label("a")), some(pod.Label("none")))
	annotations := tuple(some(pod.Annotation("empty")), some(pod.Annotation("none")))
	numbers := tuple(pod.Priority(), pod.Request("cpu"), pod.Request("memory"), pod.Request("none"))
	owners := tuple(some(pod.PriorityClass()), some(pod.Controller()), unix(pod.Created()))
	return fmt.Sprint(texts, " ", annotations, " ", numbers, " ", owners, " ", debug(pod.Images()))
}

func tellNode(node plimsoll.Node) string {
	texts := tuple(node.Name(), some(node.Label("é")), some(node.Label("none")), some(node.Annotation("a")))
	numbers := tuple(node.Allocatable("cpu"), some(node.Requested("memory")), some(node.Requested("none")))
	images := tuple(some(node.ImageSize("web:1")), some(node.ImageSize("none")))
	status := tuple(some(node.Condition("Ready")), some(node.Condition("none")), node.Unschedulable())
	capacity := tuple(node.Capacity("cpu"), node.Capacity("none"))
	return fmt.Sprint(texts, " ", debug(node.Taints()), " ", numbers, " ", images, " ", status, " ", capacity)
}

func tellPlaced(node plimsoll.Node) string {
	all := []string{}
	for pod := range node.Placed() {
		texts := tuple(pod.Name(), pod.Namespace(), some(pod.Label("app")), some(pod.Annotation("a")))
		numbers := tuple(pod.Priority(), pod.Request("memory"), unix(pod.Created()))
		owners := tuple(some(pod.PriorityClass()), some(pod.Controller()), some(pod.Phase()))
		all = append(all, fmt.Sprint(texts, " ", numbers, " ", owners))
	}
	return fmt.Sprint(debug(all), " ", node.PlacedKnown(), " ", node.CountLabelled("web", "app", "web"))
}

func tellCluster(cluster plimsoll.Cluster) string {
	all, smiling := plimsoll.Selector{}, plimsoll.Selector{NodeLabel: plimsoll.Pair{Key: "é", Value: "😀"}}
	web := plimsoll.Selector{Namespace: "web", Label: plimsoll.Pair{Key: "app", Value: "web"}}
	annotated := web
	annotated.Annotation = plimsoll.Pair{Key: "a", Value: "x"}
	counts := tuple(some(cluster.Count(all)), some(cluster.Count(web)), some(cluster.Count(annotated)))
	capped := tuple(some(cluster.CountUpTo(all, 1)), some(cluster.CountUpTo(smiling, 9)), some(cluster.AtLeast(web, 3)))
	sums := tuple(some(cluster.Requested(all, "memory")), some(cluster.Requested(smiling, "memory")))
	nodes := tuple(some(cluster.NodesWithLabel("é", "😀")), some(cluster.LabelValues("é")))
	return fmt.Sprint(counts, " ", capped, " ", sums, " ", nodes, " ", debug(some(cluster.AtLeast(all, 2))))
}

func tellFields(pod plimsoll.Pod, node plimsoll.Node) string {
	var priority int64
	var name string
	hasPriority, err := pod.Field("/spec/priority", &priority)
	number := result(some(priority, hasPriority), err)
	hasName, err := node.Field("/metadata/name", &name)
	text := result(some(name, hasName), err)
	return fmt.Sprint(number, " ", text, " ", debug(some(pod.FieldText("/none"))), " ", debug(some(node.FieldText("/spec"))))
}

func tellLarge(node plimsoll.Node) string {
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
	return fmt.Sprint(count, " ", sum, " ", debug(some(node.Label("é"))))
}
