package main

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/plimsoll/plimsoll/plugin-sdk/go/plimsoll"
)

// option is a value that may be absent.
type option struct {
	value any
	ok    bool
}

func some[T any](value T, ok bool) option {
	return option{value, ok}
}

func unix(at time.Time, ok bool) option {
	return option{at.Unix(), ok}
}

// tuple shows values as Rust does: ("a", Some(1), None).
func tuple(values ...any) string {
	return "(" + joined(values) + ")"
}

func result(value option, err error) string {
	if err != nil {
		return "Err(" + strconv.Quote(err.Error()) + ")"
	}
	return "Ok(" + debug(value) + ")"
}

// debug shows one value as Rust does.
func debug(value any) string {
	switch value := value.(type) {
	case option:
		if !value.ok {
			return "None"
		}
		return "Some(" + debug(value.value) + ")"
	case string:
		return strconv.Quote(value)
	case []string:
		return "[" + joined(value) + "]"
	case []plimsoll.Taint:
		return "[" + joined(value) + "]"
	case []plimsoll.LabelCount:
		return "[" + joined(value) + "]"
	case plimsoll.Taint:
		return fmt.Sprintf("Taint { key: %q, value: %q, effect: %q }", value.Key, value.Value, value.Effect)
	case plimsoll.LabelCount:
		return fmt.Sprintf("LabelCount { value: %q, nodes: %d }", value.Value, value.Nodes)
	case plimsoll.Owner:
		return fmt.Sprintf("Owner { api_version: %q, kind: %q, name: %q, uid: %q }", value.APIVersion, value.Kind,
			value.Name, value.UID)
	}
	return fmt.Sprint(value)
}

func joined[T any](values []T) string {
	shown := make([]string, len(values))
	for at, value := range values {
		shown[at] = debug(value)
	}
	return strings.Join(shown, ", ")
}
