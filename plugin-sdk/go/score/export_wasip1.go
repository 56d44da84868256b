package score

import "github.com/plimsoll/plimsoll/plugin-sdk/go/internal/guest"

//go:wasmexport plimsoll:policy/score@0.1.0#score
func answer(node uint32) uint32 {
	return guest.AnswerScore(node)
}
