package abi

import "unsafe"

// areaBytes bounds what the results of one read take, those of other reads under way included. An object of the API
// has at most 1.5 MiB, and a field of it is the largest result.
const areaBytes = 2 << 20

// The area lies in the module's static memory, for three reasons. The host writes to it while cabi_realloc runs, and
// then the component must not call the host; an allocation may start a garbage collection, which reads a clock, or let
// another goroutine run, which may read. Go's stacks move, so a result must not be written to one. And Go takes all
// memory beyond its own for its heap, so the area cannot grow.
var (
	area [areaBytes / 8]uint64
	top  uintptr
	// The number of reads under way: copying a result to the heap allocates, so another goroutine may begin a read
	// meanwhile. The area is empty again when none is.
	underWay int
)

// cabiRealloc gives the host memory for a text or list that an import returns, or more of it: then it keeps what is
// there. It must not allocate.
//
//go:nosplit
//go:wasmexport cabi_realloc
func cabiRealloc(old unsafe.Pointer, oldSize, align, size uint32) unsafe.Pointer {
	at := take(uintptr(size), uintptr(align))
	for i := range min(oldSize, size) {
		*(*byte)(unsafe.Add(at, i)) = *(*byte)(unsafe.Add(old, i))
	}
	return at
}

//go:nosplit
func take(size, align uintptr) unsafe.Pointer {
	at := (top + align - 1) &^ (align - 1)
	if at+size > areaBytes {
		// Outside of every memory: the host ends the call with a fault.
		return unsafe.Add(nil, ^uintptr(0)>>32&^7)
	}
	top = at + size
	return unsafe.Add(unsafe.Pointer(&area), at)
}

// Begin begins a read and returns memory for a result of this size.
func Begin(size uintptr) unsafe.Pointer {
	underWay++
	return take(size, 8)
}

// Take returns more memory for the read under way, for parameters that go through memory.
func Take(size uintptr) unsafe.Pointer {
	return take(size, 8)
}

// End ends a read: what its result refers to must have been copied.
func End() {
	underWay--
	if underWay == 0 {
		top = 0
	}
}
