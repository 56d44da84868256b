package plimsoll

import "fmt"

// The levels of the contract.
const (
	levelDebug uint32 = iota
	levelInfo
	levelWarn
	levelError
)

// Debugf writes a line to the gateway's log, with the name of the policy. A call writes at most 64 lines of 1,024 bytes.
// A cached answer needs no call, so its lines are not repeated.
func Debugf(format string, arguments ...any) {
	write(levelDebug, fmt.Sprintf(format, arguments...))
}

// Infof is as [Debugf], at level info.
func Infof(format string, arguments ...any) {
	write(levelInfo, fmt.Sprintf(format, arguments...))
}

// Warnf is as [Debugf], at level warn.
func Warnf(format string, arguments ...any) {
	write(levelWarn, fmt.Sprintf(format, arguments...))
}

// Errorf is as [Debugf], at level error.
func Errorf(format string, arguments ...any) {
	write(levelError, fmt.Sprintf(format, arguments...))
}
