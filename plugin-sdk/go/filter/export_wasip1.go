package filter

import (
	"unsafe"

	"github.com/plimsoll/plimsoll/plugin-sdk/go/internal/guest"
)

//go:wasmexport plimsoll:policy/filter@0.1.0#filter
func answer(node uint32) unsafe.Pointer {
	return guest.AnswerFilter(node)
}
