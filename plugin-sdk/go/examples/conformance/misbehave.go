package main

import (
	"fmt"
	"log/slog"
	"os"
	"runtime"
	rdebug "runtime/debug"
	"strings"

	"github.com/plimsoll/plimsoll/plugin-sdk/go/plimsoll"
)

// The ways to fail, and the limits. Those of the second line are of Go alone.
var misbehaviours = []string{
	"panic", "trap", "recursion", "loop", "memory", "long-reason", "missing-node", "missing-pod", "foreign-source", "log",
	"log-flood", "nil", "goroutine", "deadlock", "exit", "collect",
}

// misbehave fails as the topic says, or reaches a limit without a fault.
func misbehave(topic string, node plimsoll.Node) string {
	switch topic {
	case "trap":
		return fmt.Sprint(plimsoll.Groups{}.Values()[0])
	case "recursion":
		return fmt.Sprint(recursion(1))
	case "loop":
		for {
		}
	case "memory":
		for keep := [][]byte{}; ; {
			keep = append(keep, make([]byte, 1<<20))
		}
	case "long-reason":
		return strings.Repeat("x", 2000)
	case "missing-node", "missing-pod":
		// The types of this SDK have no node and no pod that does not exist.
		return "impossible"
	case "foreign-source":
		text, _ := node.Facts().Text("foreign", "key")
		return text
	case "log":
		return logEachLevel()
	case "log-flood":
		for line := range 10_000 {
			plimsoll.Infof("line %d", line)
		}
		return "lines=10000"
	}
	return ownMisbehaviour(topic, node)
}

// ownMisbehaviour is a fault that other languages do not have; `collect` only looks as if it might be one.
func ownMisbehaviour(topic string, node plimsoll.Node) string {
	switch topic {
	case "nil":
		var none map[string]int
		none["x"] = 1
	case "goroutine":
		done := make(chan bool)
		go func() { panic("in a goroutine") }()
		<-done
	case "deadlock":
		<-make(chan bool)
	case "exit":
		os.Exit(3)
	case "collect":
		return collect(node)
	}
	slog.Debug("asked", "node", node.Name())
	panic(fmt.Sprintf("no %s here", node.Name()))
}

func logEachLevel() string {
	slog.Debug("é at level debug")
	slog.Info("é at level info")
	slog.Warn("é at level warn")
	slog.Error("é at level error")
	return "lines=4"
}

func recursion(n int) int {
	return n + recursion(n+1)
}

// collect reads from many goroutines while garbage is collected and stacks move, and says whether a value was wrong.
func collect(node plimsoll.Node) string {
	defer rdebug.SetGCPercent(rdebug.SetGCPercent(5))
	large, _ := node.Annotation("large")
	selector := plimsoll.Selector{NodeLabel: plimsoll.Pair{Key: "é", Value: "😀"}}
	isDone := false
	for range 4 {
		go func() {
			for !isDone {
				if own, _ := node.Annotation("large"); own != large {
					panic("another value in the background")
				}
				runtime.Gosched()
			}
		}()
	}
	answers := make(chan string)
	for round := range 200 {
		go func() { answers <- deep(round%100, node) }()
		if answer := <-answers; answer != "😀" {
			return fmt.Sprintf("round %d: the label is %q", round, answer)
		}
		// The text is on a stack, if the SDK lets it.
		selector.NodeLabel.Value = string([]byte("\U0001F600"))
		if count, _ := node.Cluster().Count(selector); count != 2 {
			return fmt.Sprintf("round %d: %d pods", round, count)
		}
		if own, _ := node.Annotation("large"); own != large {
			return fmt.Sprintf("round %d: another value", round)
		}
	}
	isDone = true
	return "no value was wrong"
}

func deep(n int, node plimsoll.Node) string {
	var pad [512]byte
	pad[n] = byte(n)
	if n == 0 {
		label, _ := node.Label("é")
		return label
	}
	return deep(n-1, node) + string(pad[n+1:n+1])
}
