// Zone-of-team is the filter of an extender with the types of kube-scheduler, unchanged.
package main

import (
	"encoding/json"
	"log"
	"os"

	v1 "k8s.io/api/core/v1"
	extender "k8s.io/kube-scheduler/extender/v1"
)

func filter(args *extender.ExtenderArgs) *extender.ExtenderFilterResult {
	kept, failed := &v1.NodeList{}, extender.FailedNodesMap{}
	for _, node := range args.Nodes.Items {
		if node.Labels["zone"] == args.Pod.Labels["zone"] {
			kept.Items = append(kept.Items, node)
		} else {
			failed[node.Name] = "node is not in the zone of the pod"
		}
	}
	return &extender.ExtenderFilterResult{Nodes: kept, FailedNodes: failed}
}

func main() {
	args := &extender.ExtenderArgs{}
	if err := json.NewDecoder(os.Stdin).Decode(args); err != nil {
		log.Fatal(err)
	}
	if err := json.NewEncoder(os.Stdout).Encode(filter(args)); err != nil {
		log.Fatal(err)
	}
}
