package main

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"strconv"

	v1 "k8s.io/api/core/v1"
	extenderv1 "k8s.io/kube-scheduler/extender/v1"
)

// notSeen is the reason for a name that the snapshot does not have; it is tried again later.
const notSeen = "plimsoll: node not seen yet"

// extender answers filter and prioritize.
type extender struct {
	chain   chain
	cluster *cluster
}

func (e *extender) handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /filter", func(w http.ResponseWriter, r *http.Request) {
		answer(w, r, func(args *extenderv1.ExtenderArgs) any { return e.filter(args) })
	})
	mux.HandleFunc("POST /prioritize", func(w http.ResponseWriter, r *http.Request) {
		answer(w, r, func(args *extenderv1.ExtenderArgs) any { return e.prioritize(args) })
	})
	return mux
}

func answer(w http.ResponseWriter, r *http.Request, decide func(*extenderv1.ExtenderArgs) any) {
	body, err := readBody(r)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	var args extenderv1.ExtenderArgs
	if err := json.Unmarshal(body, &args); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	if args.Pod == nil || (args.Nodes == nil && args.NodeNames == nil) {
		http.Error(w, "expected Pod, and Nodes or NodeNames", http.StatusBadRequest)
		return
	}
	reply, err := json.Marshal(decide(&args))
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	writeJSON(w, reply)
}

func (e *extender) filter(args *extenderv1.ExtenderArgs) *extenderv1.ExtenderFilterResult {
	result := &extenderv1.ExtenderFilterResult{
		FailedNodes:                extenderv1.FailedNodesMap{},
		FailedAndUnresolvableNodes: extenderv1.FailedNodesMap{},
	}
	filters := e.chain.filtersFor(newPod(args.Pod))
	keeps := func(n *node) bool {
		for _, filter := range filters {
			switch v := filter.ask(n); v.kind {
			case unschedulable:
				result.FailedNodes[n.name] = filter.reason(v.reason)
				return false
			case unresolvable:
				result.FailedAndUnresolvableNodes[n.name] = filter.reason(v.reason)
				return false
			}
		}
		return true
	}
	if args.NodeNames != nil {
		kept := make([]string, 0, len(*args.NodeNames))
		for _, name := range *args.NodeNames {
			n, ok := e.cluster.nodes[name]
			switch {
			case !ok && len(filters) > 0:
				result.FailedNodes[name] = notSeen
			case !ok || keeps(n):
				kept = append(kept, name)
			}
		}
		result.NodeNames = &kept
		return result
	}
	kept := &v1.NodeList{Items: make([]v1.Node, 0, len(args.Nodes.Items))}
	for i := range args.Nodes.Items {
		if keeps(e.chain.newNode(&args.Nodes.Items[i], nil)) {
			kept.Items = append(kept.Items, args.Nodes.Items[i])
		}
	}
	result.Nodes = kept
	return result
}

func (e *extender) prioritize(args *extenderv1.ExtenderArgs) extenderv1.HostPriorityList {
	var list extenderv1.HostPriorityList
	var known []*node
	var at []int // where in the list each known node is
	if args.NodeNames != nil {
		list = make(extenderv1.HostPriorityList, len(*args.NodeNames))
		known, at = make([]*node, 0, len(list)), make([]int, 0, len(list))
		for i, name := range *args.NodeNames {
			list[i].Host = name
			if n, ok := e.cluster.nodes[name]; ok {
				known, at = append(known, n), append(at, i)
			}
		}
	} else {
		list = make(extenderv1.HostPriorityList, len(args.Nodes.Items))
		known, at = make([]*node, len(list)), make([]int, len(list))
		for i := range args.Nodes.Items {
			list[i].Host = args.Nodes.Items[i].Name
			known[i], at[i] = e.chain.newNode(&args.Nodes.Items[i], nil), i
		}
	}
	for i, score := range e.chain.scores(newPod(args.Pod), known) {
		list[at[i]].Score = score
	}
	return list
}

// readBody reads the whole body into one buffer of its size.
func readBody(r *http.Request) ([]byte, error) {
	if r.ContentLength < 0 {
		return io.ReadAll(r.Body)
	}
	body := bytes.NewBuffer(make([]byte, 0, r.ContentLength+bytes.MinRead))
	_, err := body.ReadFrom(r.Body)
	return body.Bytes(), err
}

// writeJSON sends a reply in one piece, with its length.
func writeJSON(w http.ResponseWriter, reply []byte) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Content-Length", strconv.Itoa(len(reply)))
	_, _ = w.Write(reply) // the scheduler has gone if it fails
}
