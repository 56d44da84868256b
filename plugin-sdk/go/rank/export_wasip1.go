package rank

import (
	"unsafe"

	"github.com/plimsoll/plimsoll/plugin-sdk/go/internal/guest"
)

//go:wasmexport plimsoll:policy/rank@0.1.0#rank
func answer() unsafe.Pointer {
	return guest.AnswerRank()
}
