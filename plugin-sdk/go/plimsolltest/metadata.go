//go:build !wasip1

package plimsolltest

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/plimsoll/plimsoll/plugin-sdk/go/plimsoll"
)

// The limits of the gateway: host/core/src/model/annotation.rs and answer.rs.
const (
	maxReason          = 1024
	maxEntries         = 64
	maxName            = 63
	maxPrefix          = 253
	maxAnnotationBytes = 256 << 10
)

const nameRule = "1 to 63 letters, digits, '-', '_' or '.', with a letter or digit at both ends"

var (
	nameForm   = regexp.MustCompile(`^[A-Za-z0-9]([A-Za-z0-9_.-]*[A-Za-z0-9])?$`)
	prefixForm = regexp.MustCompile(`^[A-Za-z0-9]([A-Za-z0-9-]*[A-Za-z0-9])?(\.[A-Za-z0-9]([A-Za-z0-9-]*[A-Za-z0-9])?)*$`)
)

// checkMetadata makes the checks of the gateway. It panics where that ends the call as a fault, and returns an error where
// that does not bind the pod.
func checkMetadata(metadata plimsoll.Metadata, pod *pod) error {
	if breach := metadataBreach(metadata); breach != "" {
		panic(breach)
	}
	name := pod.namespace + "/" + pod.Name
	for _, key := range sortedKeys(metadata.Labels) {
		if own, ok := pod.Labels[key]; ok && own != metadata.Labels[key] {
			return fmt.Errorf("policy test gives the pod %s the label %s, which it has already with another value", name, key)
		}
	}
	size := bytesOf(metadata.Annotations)
	for key, value := range pod.Annotations {
		if _, ok := metadata.Annotations[key]; !ok {
			size += len(key) + len(value)
		}
	}
	if len(metadata.Annotations) > 0 && size > maxAnnotationBytes {
		return fmt.Errorf("pod %s would have annotations of %d bytes; Kubernetes allows %d", name, size, maxAnnotationBytes)
	}
	return nil
}

// metadataBreach says why a policy may not give any pod this; it is empty if it may.
func metadataBreach(metadata plimsoll.Metadata) string {
	for _, part := range []struct {
		kind    string
		entries map[string]string
	}{{"annotation", metadata.Annotations}, {"label", metadata.Labels}} {
		if count := len(part.entries); count > maxEntries {
			return fmt.Sprintf("%d %ss; at most %d are allowed", count, part.kind, maxEntries)
		}
		for _, key := range sortedKeys(part.entries) {
			breach := keyBreach(key)
			if breach == "" && part.kind == "label" {
				breach = capitalBreach(key)
			}
			if breach != "" {
				return fmt.Sprintf("the %s key '%s': %s", part.kind, shown(key), breach)
			}
			if value := part.entries[key]; part.kind == "label" && value != "" && !isName(value) {
				return fmt.Sprintf("the value '%s' of the label %s: it must be empty, or %s", shown(value), key, nameRule)
			}
		}
	}
	if size := bytesOf(metadata.Annotations); size > maxAnnotationBytes {
		return fmt.Sprintf("annotations of %d bytes; at most %d are allowed", size, maxAnnotationBytes)
	}
	return ""
}

func keyBreach(key string) string {
	prefix, name, hasPrefix := strings.Cut(key, "/")
	if !hasPrefix {
		name = key
	} else if len(prefix) > maxPrefix || !prefixForm.MatchString(prefix) {
		return "before its slash it must be a domain of at most 253 bytes, such as example.com"
	} else if isReserved(strings.ToLower(prefix)) {
		return "kubernetes.io and k8s.io are Kubernetes' own"
	}
	if !isName(name) {
		return "its name must have " + nameRule
	}
	return ""
}

// capitalBreach says why a key is none of a label: Kubernetes lowers the domain of an annotation's key alone.
func capitalBreach(key string) string {
	prefix, _, hasPrefix := strings.Cut(key, "/")
	if hasPrefix && prefix != strings.ToLower(prefix) {
		return "its domain must have no capital letters"
	}
	return ""
}

func isName(name string) bool {
	return len(name) <= maxName && nameForm.MatchString(name)
}

// isReserved says whether the domain, or one that it is in, is Kubernetes' own.
func isReserved(prefix string) bool {
	for _, domain := range []string{"kubernetes.io", "k8s.io"} {
		if prefix == domain || strings.HasSuffix(prefix, "."+domain) {
			return true
		}
	}
	return false
}

func bytesOf(entries map[string]string) int {
	size := 0
	for key, value := range entries {
		size += len(key) + len(value)
	}
	return size
}

// shown is the beginning of a text that may be long and strange.
func shown(text string) string {
	quoted := fmt.Sprintf("%.80q", text)
	return quoted[1 : len(quoted)-1]
}
