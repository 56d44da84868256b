package bind

import (
	"unsafe"

	"github.com/plimsoll/plimsoll/plugin-sdk/go/internal/guest"
)

//go:wasmexport plimsoll:policy/binding@0.1.0#bind
func answer(node uint32) unsafe.Pointer {
	return guest.AnswerBind(node)
}
