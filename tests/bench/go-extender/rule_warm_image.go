package main

import (
	"encoding/json"
	"fmt"

	"k8s.io/apimachinery/pkg/api/resource"
)

// warmImage prefers nodes that have pulled a pod's images.
type warmImage struct {
	byBytes bool
	full    int64
}

func newWarmImage(text json.RawMessage) (*warmImage, error) {
	settings := struct {
		By   string
		Full resource.Quantity
	}{By: "images", Full: resource.MustParse("1Gi")}
	if err := readSettings(text, &settings); err != nil {
		return nil, err
	}
	if settings.By != "images" && settings.By != "bytes" {
		return nil, fmt.Errorf("by: %q: expected images or bytes", settings.By)
	}
	if settings.Full.Sign() <= 0 {
		return nil, fmt.Errorf("full: expected more than 0 bytes")
	}
	return &warmImage{byBytes: settings.By == "bytes", full: settings.Full.Value()}, nil
}

func (r *warmImage) scoreFor(p *pod) func(*node, any) int64 {
	return func(n *node, _ any) int64 {
		var found int
		var bytes int64
		for _, image := range p.images {
			if size, ok := n.imageSize(image); ok {
				found++
				bytes += size
			}
		}
		switch {
		case len(p.images) == 0:
			return 0
		case found == len(p.images):
			return maxScore
		case r.byBytes:
			// A node that lacks an image is below one that lacks none.
			return min(bytes*maxScore/r.full, maxScore-1)
		default:
			return int64(found * maxScore / len(p.images))
		}
	}
}
