package preempt

import (
	"unsafe"

	"github.com/plimsoll/plimsoll/plugin-sdk/go/internal/guest"
)

//go:wasmexport plimsoll:policy/preempt@0.1.0#preempt
func answer(candidate uint32) unsafe.Pointer {
	return guest.AnswerPreempt(candidate)
}
