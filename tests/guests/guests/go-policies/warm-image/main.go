// The sample policy warm-image in Go, by images alone.
package main

import (
	"github.com/plimsoll/plimsoll/plugin-sdk/go/plimsoll"
	"github.com/plimsoll/plimsoll/plugin-sdk/go/score"
)

// WarmImage prefers nodes that have pulled the pod's images.
type WarmImage struct {
	// The sample in Rust can go by bytes, too; this one has `images` alone.
	By string `json:"by"`
}

// Score is the share of the images that the node has.
func (*WarmImage) Score(pod plimsoll.Pod, node plimsoll.Node) uint32 {
	images := pod.Images()
	if len(images) == 0 {
		return 0
	}
	warm := 0
	for _, image := range images {
		if _, has := node.ImageSize(image); has {
			warm++
		}
	}
	return uint32(warm * 100 / len(images))
}

func init() { score.Export(&WarmImage{}) }

func main() {}
