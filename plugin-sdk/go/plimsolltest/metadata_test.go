//go:build !wasip1

package plimsolltest

import (
	"strings"
	"testing"

	"github.com/plimsoll/plimsoll/plugin-sdk/go/plimsoll"
)

// give is a bind that gives each pod the same.
type give plimsoll.Metadata

func (g give) Bind(plimsoll.Pod, plimsoll.Node) (plimsoll.Metadata, error) {
	return plimsoll.Metadata(g), nil
}

type entries = map[string]string

func many(count int) entries {
	all := entries{}
	for at := range count {
		all["k"+strings.Repeat("x", at%60)+string(rune('a'+at/60))] = "v"
	}
	return all
}

func TestMetadataThatTheGatewayRefusesPanicsWithItsWords(t *testing.T) {
	world := World{Pod: Pod{Name: "p"}, Nodes: []Node{{Name: "n"}}}
	for _, row := range []struct {
		metadata plimsoll.Metadata
		expected string
	}{
		{plimsoll.Metadata{Labels: entries{"": "v"}}, "the label key '': its name must have 1 to 63 letters"},
		{plimsoll.Metadata{Labels: entries{"kubernetes.io/hostname": "x y"}}, "the label key 'kubernetes.io/hostname': kubernetes.io and"},
		{plimsoll.Metadata{Labels: entries{"A.com/a": "v"}}, "the label key 'A.com/a': its domain must have no capital letters"},
		{plimsoll.Metadata{Labels: entries{"a": "x y"}}, "the value 'x y' of the label a: it must be empty, or 1 to 63"},
		{plimsoll.Metadata{Labels: entries{"a": strings.Repeat("v", 64)}}, "the value 'vvv"},
		{plimsoll.Metadata{Labels: many(65)}, "65 labels; at most 64 are allowed"},
		{plimsoll.Metadata{Annotations: many(65)}, "65 annotations; at most 64 are allowed"},
		{plimsoll.Metadata{Annotations: entries{"X.K8s.io/a": ""}}, "the annotation key 'X.K8s.io/a': kubernetes.io and"},
		{plimsoll.Metadata{Annotations: entries{"e_x.com/a": ""}}, "the annotation key 'e_x.com/a': before its slash"},
		{plimsoll.Metadata{Annotations: entries{"a/b/c": ""}}, "the annotation key 'a/b/c': its name must have"},
		{plimsoll.Metadata{Annotations: entries{"a\n": ""}}, `the annotation key 'a\n': its name must have`},
		{plimsoll.Metadata{Annotations: entries{"a": strings.Repeat("v", 256<<10)}}, "annotations of 262145 bytes; at most 262144"},
	} {
		if text := panicOf(func() { _, _ = world.Bind(give(row.metadata), "n") }); !strings.HasPrefix(text, row.expected) {
			t.Errorf("got %q, want %q", text, row.expected)
		}
	}
	allowed := plimsoll.Metadata{
		Labels:      entries{"example.com/rack": "", "a": "r-1_2.b", "k8s.io.example.com/c": "v"},
		Annotations: entries{"Example.com/Device": "x y", "notkubernetes.io/a": ""},
	}
	if metadata, err := world.Bind(give(allowed), "n"); err != nil || len(metadata.Labels) != 3 {
		t.Error(metadata, err)
	}
}

func TestAPodThatCannotCarryItsMetadataIsNotBound(t *testing.T) {
	large := strings.Repeat("v", 200<<10)
	world := World{
		Pod:   Pod{Name: "p", Labels: entries{"app": "a"}, Annotations: entries{"own": large}},
		Nodes: []Node{{Name: "n"}},
	}
	for _, row := range []struct {
		metadata plimsoll.Metadata
		expected string
	}{
		{plimsoll.Metadata{Labels: entries{"app": "a"}, Annotations: entries{"own": large}}, ""},
		{
			plimsoll.Metadata{Labels: entries{"app": "b"}},
			"policy test gives the pod default/p the label app, which it has already with another value",
		},
		{
			plimsoll.Metadata{Annotations: entries{"k": large}},
			"pod default/p would have annotations of 409604 bytes; Kubernetes allows 262144",
		},
	} {
		text := ""
		if _, err := world.Bind(give(row.metadata), "n"); err != nil {
			text = err.Error()
		}
		if text != row.expected {
			t.Errorf("got %q, want %q", text, row.expected)
		}
	}
}
