// Package plimsoll is the part of the contract that the policies beside it need, by the canonical ABI.
package plimsoll

import (
	"encoding/json"
	"unsafe"
)

// What the host returns lies in a static area, which is rewound when no read is under way. cabi_realloc must not
// allocate: while it runs nobody may call the host, and an allocation may let a goroutine run that does.
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

//go:wasmimport plimsoll:policy/pod@0.1.0 namespace
func podNamespace(ret *[2]uint64)

//go:wasmimport plimsoll:policy/pod@0.1.0 images
func podImages(ret *[2]uint64)

//go:wasmimport plimsoll:policy/nodes@0.1.0 label
func nodeLabel(node uint32, key string, ret *[2]uint64)

//go:wasmimport plimsoll:policy/nodes@0.1.0 image-size
func nodeImageSize(node uint32, image string, ret *[2]uint64)

//go:wasmimport plimsoll:policy/host@0.1.0 settings
func hostSettings(ret *[2]uint64)

// Namespace is that of the pod.
func Namespace() string {
	ret := begin()
	defer end()
	podNamespace(ret)
	return text(words(ret)[0], words(ret)[1])
}

// Images are those of the pod.
func Images() []string {
	ret := begin()
	defer end()
	podImages(ret)
	at, length := words(ret)[0], words(ret)[1]
	images := make([]string, length)
	for i := range images {
		image := (*[2]uint32)(unsafe.Pointer(uintptr(at) + uintptr(8*i)))
		images[i] = text(image[0], image[1])
	}
	return images
}

// Label is the value of a node's label, if it has it.
func Label(node uint32, key string) (value string, found bool) {
	ret := begin()
	defer end()
	nodeLabel(node, key, ret)
	if byte(words(ret)[0]) == 0 {
		return "", false
	}
	return text(words(ret)[1], words(ret)[2]), true
}

// HasImage tells whether a node has pulled an image.
func HasImage(node uint32, image string) bool {
	ret := begin()
	defer end()
	nodeImageSize(node, image, ret)
	return byte(words(ret)[0]) != 0
}

// Settings reads the policy's settings.
func Settings(into any) {
	ret := begin()
	defer end()
	hostSettings(ret)
	if err := json.Unmarshal([]byte(text(words(ret)[0], words(ret)[1])), into); err != nil {
		panic(err)
	}
}

// What the host writes to lies in the area as well, never on a stack: stacks move.
func begin() *[2]uint64 {
	underWay++
	return (*[2]uint64)(cabiRealloc(nil, 0, 8, 16))
}

func end() {
	if underWay--; underWay == 0 {
		top = 0
	}
}

func words(ret *[2]uint64) *[4]uint32 {
	return (*[4]uint32)(unsafe.Pointer(ret))
}

func text(at, length uint32) string {
	if length == 0 {
		return ""
	}
	return string(unsafe.Slice((*byte)(unsafe.Pointer(uintptr(at))), length))
}

var (
	answer struct{ which, text, len uint32 }
	reason string // reachable until the next call
)

// Fits is the verdict for a node that the pod may run on.
func Fits() unsafe.Pointer {
	answer.which = 0
	return unsafe.Pointer(&answer)
}

// Unresolvable is the verdict for a node that it may not.
func Unresolvable(why string) unsafe.Pointer {
	reason = why
	answer.which = 2
	answer.text = uint32(uintptr(unsafe.Pointer(unsafe.StringData(reason))))
	answer.len = uint32(len(reason))
	return unsafe.Pointer(&answer)
}
