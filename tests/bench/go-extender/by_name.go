package main

import (
	"bytes"
	"fmt"
	"net/http"
	"strconv"
	"strings"
)

// refusedReason is as long as the reasons of the sample policies are.
const refusedReason = `"pool: node is in another tenant's pool"`

// residues are the nodes whose number leaves one of these remainders.
type residues [][2]int

// parseResidues reads "3:1,7:0": numbers that leave 1 when divided by 3, or 0 when divided by 7.
func parseResidues(text string) (residues, error) {
	var all residues
	for _, part := range strings.Split(text, ",") {
		var one [2]int
		if _, err := fmt.Sscanf(part, "%d:%d", &one[0], &one[1]); err != nil || one[0] < 1 {
			return nil, fmt.Errorf("--refuse %q: expected DIVISOR:REMAINDER, as in 3:1,7:0", part)
		}
		all = append(all, one)
	}
	return all, nil
}

func (r residues) has(number int) bool {
	for _, one := range r {
		if number%one[0] == one[1] {
			return true
		}
	}
	return false
}

// byNameExtender says as much as an extender with rules, with next to no thought: a node's own number tells whether
// it is refused, and its score. It costs the scheduler more than the null extender by its longer replies alone.
func byNameExtender(refused residues) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /filter", func(w http.ResponseWriter, r *http.Request) {
		answerNames(w, r, func(names []byte) []byte { return filterByName(names, refused) })
	})
	mux.HandleFunc("POST /prioritize", func(w http.ResponseWriter, r *http.Request) {
		answerNames(w, r, scoreByName)
	})
	return mux
}

func filterByName(names []byte, refused residues) []byte {
	kept := make([]byte, 0, len(names))
	failed := make([]byte, 0, 4*len(names))
	eachName(names, func(name []byte, number int) {
		if refused.has(number) {
			failed = append(append(append(separated(failed), name...), ':'), refusedReason...)
		} else {
			kept = append(separated(kept), name...)
		}
	})
	return fmt.Appendf(nil, `{"Nodes":null,"NodeNames":[%s],"FailedNodes":{%s},"FailedAndUnresolvableNodes":{},"Error":""}`, kept, failed)
}

func scoreByName(names []byte) []byte {
	scores := append(make([]byte, 0, 4*len(names)), '[')
	eachName(names, func(name []byte, number int) {
		if len(scores) > 1 {
			scores = append(scores, ',')
		}
		scores = append(append(append(scores, `{"Host":`...), name...), `,"Score":`...)
		scores = append(strconv.AppendInt(scores, int64(number%11), 10), '}')
	})
	return append(scores, ']')
}

// eachName goes over a list of names, each in its quotes and with the number at its end.
func eachName(list []byte, each func(name []byte, number int)) {
	for _, name := range bytes.Split(bytes.Trim(list, "[]"), []byte{','}) {
		if len(name) < 2 {
			continue
		}
		number, place := 0, 1
		for at := len(name) - 2; at > 0 && name[at] >= '0' && name[at] <= '9'; at-- {
			number, place = number+place*int(name[at]-'0'), place*10
		}
		each(name, number)
	}
}

func separated(list []byte) []byte {
	if len(list) == 0 {
		return list
	}
	return append(list, ',')
}
