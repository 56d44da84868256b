// Gpu-zone keeps pods of team a in zone a, and likes nodes with an SSD.
package main

import (
	"encoding/json"
	"fmt"
	"os"
)

type object struct {
	Metadata struct {
		Name   string            `json:"name"`
		Labels map[string]string `json:"labels"`
	} `json:"metadata"`
}

type request struct {
	Pod   object
	Nodes struct {
		Items []object `json:"items"`
	}
}

type hostPriority struct {
	Host  string
	Score int64
}

func main() {
	var asked request
	if err := json.NewDecoder(os.Stdin).Decode(&asked); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	answer := map[string]func(request) any{"filter": filter, "prioritize": prioritize}[os.Args[1]]
	json.NewEncoder(os.Stdout).Encode(answer(asked))
}

func filter(asked request) any {
	kept, failed := []string{}, map[string]string{}
	for _, node := range asked.Nodes.Items {
		if asked.Pod.Metadata.Labels["team"] == "a" && node.Metadata.Labels["zone"] != "a" {
			failed[node.Metadata.Name] = "node is not in the zone of team a"
		} else {
			kept = append(kept, node.Metadata.Name)
		}
	}
	return map[string]any{"NodeNames": kept, "FailedNodes": failed}
}

func prioritize(asked request) any {
	scores := []hostPriority{}
	for _, node := range asked.Nodes.Items {
		if node.Metadata.Labels["disk"] == "ssd" {
			scores = append(scores, hostPriority{node.Metadata.Name, 10})
		}
	}
	return scores
}
