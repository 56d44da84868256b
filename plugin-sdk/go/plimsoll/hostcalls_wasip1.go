package plimsoll

import "unsafe"

// hostCalls has the imports as methods. An import that returns more than a number writes to the
// memory of package abi, and what it wrote is copied before the read ends.
type hostCalls struct{}

func liftGroups(at unsafe.Pointer) Groups {
	return Groups{values: liftList(at, 8, liftText), groups: liftList(unsafe.Add(at, 8), 4, liftU32)}
}

func write(level uint32, message string) {
	importHostLog(level, message)
}

// escaped holds the last text that was put into memory. A text that is assigned here is never on a stack, whose
// addresses change.
var escaped string

func liftBool(at unsafe.Pointer) bool {
	return *(*byte)(at) != 0
}

func liftU32(at unsafe.Pointer) uint32 {
	return *(*uint32)(at)
}

func liftU64(at unsafe.Pointer) uint64 {
	return *(*uint64)(at)
}

func liftS32(at unsafe.Pointer) int32 {
	return *(*int32)(at)
}

func liftF64(at unsafe.Pointer) float64 {
	return *(*float64)(at)
}

func liftS64(at unsafe.Pointer) int64 {
	return *(*int64)(at)
}

// liftText copies a text: its memory is used again after the read.
func liftText(at unsafe.Pointer) string {
	length := liftU32(unsafe.Add(at, 4))
	if length == 0 {
		return ""
	}
	return string(unsafe.Slice((*byte)(pointed(at)), length))
}

// liftList reads a list of items that have this many bytes each.
func liftList[T any](at unsafe.Pointer, size uintptr, lift func(unsafe.Pointer) T) []T {
	items := make([]T, liftU32(unsafe.Add(at, 4)))
	first := pointed(at)
	for index := range items {
		items[index] = lift(unsafe.Add(first, uintptr(index)*size))
	}
	return items
}

// liftOption reads a value that may be absent; it lies this many bytes after the tag.
func liftOption[T any](at unsafe.Pointer, payload uintptr, lift func(unsafe.Pointer) T) (value T, ok bool) {
	if !liftBool(at) {
		return value, false
	}
	return lift(unsafe.Add(at, payload)), true
}

// pointed is the address in memory.
func pointed(at unsafe.Pointer) unsafe.Pointer {
	return unsafe.Add(nil, uintptr(liftU32(at)))
}

func putBool(at unsafe.Pointer, value bool) {
	*(*bool)(at) = value
}

func putU32(at unsafe.Pointer, value uint32) {
	*(*uint32)(at) = value
}

func putU64(at unsafe.Pointer, value uint64) {
	*(*uint64)(at) = value
}

func putText(at unsafe.Pointer, value string) {
	escaped = value
	putU32(at, uint32(uintptr(unsafe.Pointer(unsafe.StringData(value)))))
	putU32(unsafe.Add(at, 4), uint32(len(value)))
}
