package main

import "unsafe"

// The canonical ABI by hand. cabi_realloc must not allocate: while it runs nobody may call the host, and an
// allocation may let a goroutine run that does. So it bumps a static area, which is rewound when no call is
// under way. The memory that the host writes to lies there as well, never on a stack: stacks move.

const (
	fits uint32 = iota
	unschedulable
	unresolvable
)

var (
	area     [256 << 10]byte
	top      uintptr
	underWay int
)

//go:nosplit
//go:wasmexport cabi_realloc
func cabiRealloc(old unsafe.Pointer, oldSize, align, size uint32) unsafe.Pointer {
	at := (top + uintptr(align) - 1) &^ (uintptr(align) - 1)
	if at+uintptr(size) > uintptr(len(area)) {
		return unsafe.Pointer(^uintptr(0) >> 32 &^ 7) // out of bounds: the host ends the call
	}
	top = at + uintptr(size)
	return unsafe.Pointer(uintptr(unsafe.Pointer(&area)) + at)
}

//go:wasmimport plimsoll:policy/nodes@0.1.0 label
func nodesLabel(node uint32, key string, ret *[4]uint32)

//go:wasmimport plimsoll:policy/host@0.1.0 settings
func settingsText(ret *[4]uint32)

func begin() *[4]uint32 {
	underWay++
	return (*[4]uint32)(cabiRealloc(nil, 0, 8, 16))
}

func end() {
	if underWay--; underWay == 0 {
		top = 0
	}
}

func text(at, length uint32) string {
	if length == 0 {
		return ""
	}
	return string(unsafe.Slice((*byte)(unsafe.Pointer(uintptr(at))), length))
}

func hostText(read func(*[4]uint32)) string {
	ret := begin()
	defer end()
	read(ret)
	return text(ret[0], ret[1])
}

func label(node uint32, key string) (value string, found bool) {
	ret := begin()
	defer end()
	nodesLabel(node, key, ret)
	if byte(ret[0]) == 0 {
		return "", false
	}
	return text(ret[1], ret[2]), true
}

var (
	answer struct{ which, text, len uint32 }
	reason string // reachable until the next call
)

//go:wasmexport plimsoll:policy/filter@0.1.0#filter
func filter(node uint32) unsafe.Pointer {
	answer.which, reason = verdict(node)
	answer.text = uint32(uintptr(unsafe.Pointer(unsafe.StringData(reason))))
	answer.len = uint32(len(reason))
	return unsafe.Pointer(&answer)
}
