// Package hostlog sends what a policy logs with log/slog to the gateway's log, at its own level:
//
//	import _ "github.com/plimsoll/plimsoll/plugin-sdk/go/hostlog"
//
// It is a separate package because log/slog makes a module 0.4 MB larger. The functions of package plimsoll, such as
// [plimsoll.Infof], need no more than the module has anyway.
package hostlog

import (
	"context"
	"log/slog"
	"strings"

	"github.com/plimsoll/plimsoll/plugin-sdk/go/plimsoll"
)

// Handler writes records as `message key=value`, without a time: a policy has no clock.
type Handler struct {
	// The attributes given before, each with a space before it.
	given string
	// The groups that keys are in, each with a dot behind it.
	group string
}

// Enabled says that every level is logged: the gateway has the filter.
func (Handler) Enabled(context.Context, slog.Level) bool {
	return true
}

// Handle writes one line.
func (h Handler) Handle(_ context.Context, record slog.Record) error {
	var line strings.Builder
	line.WriteString(record.Message + h.given)
	record.Attrs(func(attribute slog.Attr) bool {
		h.write(&line, h.group, attribute)
		return true
	})
	switch {
	case record.Level < slog.LevelInfo:
		plimsoll.Debugf("%s", line.String())
	case record.Level < slog.LevelWarn:
		plimsoll.Infof("%s", line.String())
	case record.Level < slog.LevelError:
		plimsoll.Warnf("%s", line.String())
	default:
		plimsoll.Errorf("%s", line.String())
	}
	return nil
}

// WithAttrs adds attributes to every line.
func (h Handler) WithAttrs(attributes []slog.Attr) slog.Handler {
	var given strings.Builder
	given.WriteString(h.given)
	for _, attribute := range attributes {
		h.write(&given, h.group, attribute)
	}
	return Handler{given.String(), h.group}
}

// WithGroup puts the name before the keys that follow.
func (h Handler) WithGroup(name string) slog.Handler {
	if name == "" {
		return h
	}
	return Handler{h.given, h.group + name + "."}
}

func (h Handler) write(line *strings.Builder, group string, attribute slog.Attr) {
	value := attribute.Value.Resolve()
	if value.Kind() == slog.KindGroup {
		if attribute.Key != "" {
			group += attribute.Key + "."
		}
		for _, inner := range value.Group() {
			h.write(line, group, inner)
		}
		return
	}
	if attribute.Equal(slog.Attr{}) {
		return
	}
	line.WriteString(" " + group + attribute.Key + "=" + value.String())
}
