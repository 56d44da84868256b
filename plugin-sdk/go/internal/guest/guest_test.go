package guest

import (
	"strings"
	"testing"
)

type own struct{ field int }

func panicOf(export func()) (text string) {
	defer func() { text, _ = recover().(string) }()
	export()
	return ""
}

func TestAModuleHasOnePolicyAndThatIsAPointer(t *testing.T) {
	policy := &own{}
	Export(Filter, policy)
	Export(Score, policy)
	if Policy() != any(policy) || !IsExported(Score) || IsExported(Bind) {
		t.Error(Policy(), exported)
	}
	if text := panicOf(func() { Export(Bind, own{}) }); text != "bind.Export needs a pointer, since the settings are read into the policy: got a guest.own" {
		t.Error(text)
	}
	if text := panicOf(func() { Export(Bind, nil) }); !strings.Contains(text, "needs a pointer") {
		t.Error(text)
	}
	if text := panicOf(func() { Export(Bind, &own{1}) }); !strings.Contains(text, "a module has one policy") {
		t.Error(text)
	}
}
