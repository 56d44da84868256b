// The policy of zone.wat in Go, and what a careless one may do: its settings say which.
package main

import (
	"encoding/json"
	"fmt"
	"math/rand"
	"net"
	"os"
	"runtime"
	"runtime/debug"
	"time"
)

func main() {}

func verdict(node uint32) (which uint32, reason string) {
	var settings struct{ Do string }
	if err := json.Unmarshal([]byte(hostText(settingsText)), &settings); err != nil {
		return unresolvable, err.Error()
	}
	switch settings.Do {
	case "panic":
		var none map[string]int
		none["x"] = 1
	case "recover":
		recovers()
	case "deadlock":
		<-make(chan int)
	case "sleep":
		time.Sleep(time.Hour)
	case "loop":
		for {
		}
	case "exhaust":
		for keep := [][]byte{}; ; {
			keep = append(keep, make([]byte, 1<<20))
		}
	case "file":
		_, err := os.ReadFile("/etc/passwd")
		return unschedulable, err.Error()
	case "network":
		_, err := net.Dial("tcp", "192.0.2.1:80")
		return unschedulable, err.Error()
	case "frozen":
		return unschedulable, fmt.Sprint(time.Now().UTC().Format(time.RFC3339), " ", rand.Uint32(), " ", os.Args, os.Environ())
	case "print":
		fmt.Println("to standard output")
		fmt.Fprintln(os.Stderr, "to standard error")
	case "collect":
		return collect()
	}
	return zone(node)
}

func zone(node uint32) (uint32, string) {
	switch zone, found := label(node, "zone"); {
	case !found:
		return unresolvable, "no zone"
	case zone == "a":
		return fits, ""
	default:
		return unschedulable, "not in zone " + "a"
	}
}

func recovers() {
	defer func() { recover() }()
	var none map[string]int
	none["x"] = 1
}

// collect reads while garbage is collected and goroutines move their stacks.
func collect() (uint32, string) {
	debug.SetGCPercent(5)
	answers := make(chan string)
	for round := range 200 {
		go func() {
			answers <- deep(round % 100)
		}()
		if answer := <-answers; answer != "a" {
			return unschedulable, fmt.Sprintf("round %d: zone %q", round, answer)
		}
		runtime.Gosched()
	}
	return fits, ""
}

func deep(n int) string {
	var pad [512]byte
	pad[n] = byte(n)
	if n == 0 {
		zone, _ := label(0, "zone")
		return zone
	}
	return deep(n-1) + string(pad[n+1:n+1])
}
