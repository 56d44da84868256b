package bind

import (
	"unsafe"

	"github.com/plimsoll/plimsoll/plugin-sdk/go/internal/call"
)

//go:wasmexport plimsoll:policy/binding@0.1.0#bind
func answer(node uint32) unsafe.Pointer {
	return call.AnswerBind(node)
}
