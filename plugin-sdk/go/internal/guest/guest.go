// Package guest joins the packages of the verbs with package plimsoll: a verb's package notes the policy and has the
// export, and package plimsoll has the types and makes the call.
package guest

import (
	"fmt"
	"reflect"
)

// The verbs, by the names of their packages.
const (
	Filter  = "filter"
	Score   = "score"
	Rank    = "rank"
	Preempt = "preempt"
	Bind    = "bind"
)

var (
	policy   any
	exported = map[string]bool{}
)

// Export notes that the policy has the verb.
func Export(verb string, own any) {
	if reflect.TypeOf(own) == nil || reflect.TypeOf(own).Kind() != reflect.Pointer {
		panic(fmt.Sprintf("%s.Export needs a pointer, since the settings are read into the policy: got a %T", verb, own))
	}
	if policy != nil && policy != own {
		panic(fmt.Sprintf("%s.Export got another policy than the verb before it: a module has one policy", verb))
	}
	policy = own
	exported[verb] = true
}

// Policy is the policy of the module; nil if it exported no verb.
func Policy() any {
	return policy
}

// IsExported says whether the policy exported the verb.
func IsExported(verb string) bool {
	return exported[verb]
}
