package main

import (
	"fmt"
	"strings"
	"time"

	"github.com/plimsoll/plimsoll/plugin-sdk/go/plimsoll"
)

// lines are lines of key=value.
type lines []string

func (l *lines) add(key string, value any) {
	*l = append(*l, fmt.Sprintf("%s=%v", key, value))
}

func (l lines) String() string {
	return strings.Join(l, "\n")
}

// some is the value of a read that may have none.
func some[T any](value T, ok bool) any {
	if !ok {
		return "-"
	}
	return value
}

func owner(own plimsoll.Owner, ok bool) any {
	return some(strings.Join([]string{own.APIVersion, own.Kind, own.Name, own.UID}, " "), ok)
}

func unix(at time.Time, ok bool) any {
	return some(at.Unix(), ok)
}

// thousandths is a whole number: not every language writes a fraction in the same way.
func thousandths(number float64, ok bool) any {
	return some(int64(number*1000), ok)
}

// joined shows each item, with spaces between.
func joined[T any](items []T, show func(T) string) string {
	shown := make([]string, len(items))
	for at, item := range items {
		shown[at] = show(item)
	}
	return strings.Join(shown, " ")
}
