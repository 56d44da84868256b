// The sample policy warm-image in Go, by images alone.
package main

import "plimsoll.example/policies/plimsoll"

func main() {}

//go:wasmexport plimsoll:policy/score@0.1.0#score
func score(node uint32) uint32 {
	images := plimsoll.Images()
	if len(images) == 0 {
		return 0
	}
	warm := 0
	for _, image := range images {
		if plimsoll.HasImage(node, image) {
			warm++
		}
	}
	return uint32(warm * 100 / len(images))
}
