package abi

import "unsafe"

// Pair is a label or an annotation of an answer.
type Pair struct {
	Key, Value string
}

// The words of the last answer, and all that they point to: both stay until the next call.
var (
	words       [5]uint32
	keptText    string
	keptNumbers []uint32
	keptPairs   [2][]Pair
	keptLists   [2][]uint32
)

// Tagged answers with a case that has no value.
func Tagged(tag uint32) unsafe.Pointer {
	words = [5]uint32{tag}
	return unsafe.Pointer(&words)
}

// Text answers with a case that has a text.
func Text(tag uint32, text string) unsafe.Pointer {
	keptText = text
	words = [5]uint32{tag, addressOfText(text), uint32(len(text))}
	return unsafe.Pointer(&words)
}

// Numbers answers with a case that has a list of numbers.
func Numbers(tag uint32, numbers []uint32) unsafe.Pointer {
	keptNumbers = numbers
	words = [5]uint32{tag, addressOfNumbers(numbers), uint32(len(numbers))}
	return unsafe.Pointer(&words)
}

// List answers with a list of numbers alone.
func List(numbers []uint32) unsafe.Pointer {
	keptNumbers = numbers
	words = [5]uint32{addressOfNumbers(numbers), uint32(len(numbers))}
	return unsafe.Pointer(&words)
}

// Metadata answers a bind with annotations and labels.
func Metadata(annotations, labels []Pair) unsafe.Pointer {
	keptPairs = [2][]Pair{annotations, labels}
	for at, pairs := range keptPairs {
		list := make([]uint32, 0, 4*len(pairs))
		for _, pair := range pairs {
			list = append(list, addressOfText(pair.Key), uint32(len(pair.Key)))
			list = append(list, addressOfText(pair.Value), uint32(len(pair.Value)))
		}
		keptLists[at] = list
	}
	words = [5]uint32{
		0,
		addressOfNumbers(keptLists[0]), uint32(len(annotations)),
		addressOfNumbers(keptLists[1]), uint32(len(labels)),
	}
	return unsafe.Pointer(&words)
}

// NotBound answers a bind with a case of refusal and its text.
func NotBound(tag uint32, reason string) unsafe.Pointer {
	keptText = reason
	words = [5]uint32{1, tag, addressOfText(reason), uint32(len(reason))}
	return unsafe.Pointer(&words)
}

func addressOfText(text string) uint32 {
	return uint32(uintptr(unsafe.Pointer(unsafe.StringData(text))))
}

func addressOfNumbers(numbers []uint32) uint32 {
	return uint32(uintptr(unsafe.Pointer(unsafe.SliceData(numbers))))
}
