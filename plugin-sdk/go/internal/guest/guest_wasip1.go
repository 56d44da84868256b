package guest

import "unsafe"

// The calls that the host makes; package plimsoll sets them.
var (
	AnswerFilter  func(node uint32) unsafe.Pointer
	AnswerScore   func(node uint32) uint32
	AnswerRank    func() unsafe.Pointer
	AnswerPreempt func(candidate uint32) unsafe.Pointer
	AnswerBind    func(node uint32) unsafe.Pointer
)
