package main

import (
	"bytes"
	"io"
	"net/http"
)

const (
	keptHead = `{"Nodes":null,"NodeNames":`
	keptTail = `,"FailedNodes":{},"FailedAndUnresolvableNodes":{},"Error":""}`
)

// nullExtender keeps every node and scores none: the least that a filter can answer is the list of names,
// which is cut out of the request's bytes.
func nullExtender() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /filter", func(w http.ResponseWriter, r *http.Request) { answerNames(w, r, keepAll) })
	mux.HandleFunc("POST /prioritize", func(w http.ResponseWriter, r *http.Request) {
		if _, err := io.Copy(io.Discard, r.Body); err != nil {
			return
		}
		writeJSON(w, []byte("[]"))
	})
	return mux
}

func keepAll(names []byte) []byte {
	reply := make([]byte, 0, len(keptHead)+len(names)+len(keptTail))
	return append(append(append(reply, keptHead...), names...), keptTail...)
}

// answerNames puts the list of names of a request to an answer.
func answerNames(w http.ResponseWriter, r *http.Request, answer func(names []byte) []byte) {
	body, err := readBody(r)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	names := cutNames(body)
	if names == nil {
		http.Error(w, "NodeNames: expected a list: set nodeCacheCapable: true", http.StatusBadRequest)
		return
	}
	writeJSON(w, answer(names))
}

// cutNames returns the list of NodeNames as it stands in the body, or nil. kube-scheduler writes the key last,
// and a quote within a string is escaped, so the last place where it stands is the key.
func cutNames(body []byte) []byte {
	key := []byte(`"NodeNames":`)
	at := bytes.LastIndex(body, key)
	if at < 0 {
		return nil
	}
	list := body[at+len(key):]
	end := bytes.IndexByte(list, ']')
	if end < 0 || list[0] != '[' {
		return nil
	}
	return list[:end+1]
}
