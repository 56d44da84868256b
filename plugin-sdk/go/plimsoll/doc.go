// Package plimsoll has the types of a policy for plimsoll, the scheduler extender: the pod, the nodes and the pods
// placed there, and the answers. A policy is a type with the methods of its verbs, and it exports each verb with the
// package of that name:
//
//	package main
//
//	import (
//		"github.com/plimsoll/plimsoll/plugin-sdk/go/filter"
//		"github.com/plimsoll/plimsoll/plugin-sdk/go/plimsoll"
//	)
//
//	// NeedsLabel rejects nodes that lack the label a pod asks for.
//	type NeedsLabel struct {
//		Annotation string `json:"annotation"`
//	}
//
//	func (p *NeedsLabel) Filter(pod plimsoll.Pod, node plimsoll.Node) plimsoll.Verdict {
//		if key, asks := pod.Annotation(p.Annotation); asks {
//			if _, has := node.Label(key); !has {
//				return plimsoll.Unresolvable("node lacks the label that the pod needs")
//			}
//		}
//		return plimsoll.Fits()
//	}
//
//	func init() { filter.Export(&NeedsLabel{Annotation: "example.com/needs"}) }
//
//	func main() {}
//
// Build it with the Go toolchain alone:
//
//	GOOS=wasip1 GOARCH=wasm go build -trimpath -buildvcs=false -buildmode=c-shared -ldflags='-s -w' -o needs-label.wasm
//
// A policy is a function of the values that it reads: it must not depend on earlier calls. Each method of a view is one
// read of the host. A read that may have no value has a second result, ok, which is false where there is none.
//
// The settings of the policy's sidecar are read into its fields with encoding/json; a field that is not there is
// refused. A policy with a method Validate() error can refuse more. A panic ends the call as a fault with its text,
// and its stack is in the log.
package plimsoll
