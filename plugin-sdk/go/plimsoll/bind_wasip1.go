package plimsoll

import (
	"errors"
	"maps"
	"slices"
	"unsafe"

	"github.com/plimsoll/plimsoll/plugin-sdk/go/internal/abi"
	"github.com/plimsoll/plimsoll/plugin-sdk/go/internal/guest"
)

type binder interface {
	Bind(pod Pod, node Node) (Metadata, error)
}

const (
	refused uint32 = iota
	retry
)

func init() {
	guest.AnswerBind = func(node uint32) unsafe.Pointer {
		defer endAsFault()
		metadata, err := policy().(binder).Bind(Pod{}, Node{node: node})
		var soon *RetryError
		switch {
		case err == nil:
			return abi.Metadata(pairs(metadata.Annotations), pairs(metadata.Labels))
		case errors.As(err, &soon):
			return abi.NotBound(retry, err.Error())
		default:
			return abi.NotBound(refused, err.Error())
		}
	}
}

// pairs are the entries by key: an answer does not depend on the order of a map.
func pairs(entries map[string]string) []abi.Pair {
	pairs := make([]abi.Pair, 0, len(entries))
	for _, key := range slices.Sorted(maps.Keys(entries)) {
		pairs = append(pairs, abi.Pair{Key: key, Value: entries[key]})
	}
	return pairs
}
