// Command go-extender is a kube-scheduler extender with the rules of the sample policies, written natively.
//
// It is what plimsoll is measured beside, so it is built as a good extender is: the types of Kubernetes,
// net/http and encoding/json, nodes in a map by name, and nothing worked out twice that can be kept.
//
//	go-extender --mode rules --rules rules.json [--snapshot cluster.json]
//	go-extender --mode null
//	go-extender --mode by-name --refuse 3:1,7:0
//
// It prints the address that it listens on as one line of JSON, and serves until it is killed.
package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"log"
	"net"
	"net/http"
	"os"
)

func main() {
	mode := flag.String("mode", "rules", "rules: decide by --rules; null: keep every node, unparsed; by-name: refuse by --refuse")
	rules := flag.String("rules", "", "file with the rules, in order: [{name, rule, weight, settings}]")
	snapshot := flag.String("snapshot", "", "file with nodes and pods (kubectl get nodes,pods -A -o json), for requests by name")
	refuse := flag.String("refuse", "", "for by-name: nodes whose number leaves a remainder, DIVISOR:REMAINDER,...")
	listen := flag.String("listen", "127.0.0.1:0", "address to listen on")
	flag.Parse()
	if err := run(*mode, *rules, *snapshot, *refuse, *listen); err != nil {
		log.Fatal(err)
	}
}

func run(mode, rules, snapshot, refuse, listen string) error {
	handler, err := handlerFor(mode, rules, snapshot, refuse)
	if err != nil {
		return err
	}
	listener, err := net.Listen("tcp", listen)
	if err != nil {
		return err
	}
	line, err := json.Marshal(map[string]string{"listen": listener.Addr().String()})
	if err != nil {
		return err
	}
	if _, err := fmt.Fprintf(os.Stdout, "%s\n", line); err != nil {
		return err
	}
	return http.Serve(listener, handler)
}

func handlerFor(mode, rulesFile, snapshotFile, refuse string) (http.Handler, error) {
	switch mode {
	case "null":
		return nullExtender(), nil
	case "by-name":
		refused, err := parseResidues(refuse)
		if err != nil {
			return nil, err
		}
		return byNameExtender(refused), nil
	case "rules":
		chain, err := readRules(rulesFile)
		if err != nil {
			return nil, err
		}
		cluster, err := readSnapshot(snapshotFile, chain)
		if err != nil {
			return nil, err
		}
		return (&extender{chain: chain, cluster: cluster}).handler(), nil
	default:
		return nil, fmt.Errorf("--mode %s: expected rules, null or by-name", mode)
	}
}
