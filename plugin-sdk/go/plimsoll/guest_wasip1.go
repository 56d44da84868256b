package plimsoll

import (
	"fmt"
	"reflect"
	"runtime"
	"runtime/debug"
	"strings"
	"unsafe"

	"github.com/plimsoll/plimsoll/plugin-sdk/go/internal/abi"
	"github.com/plimsoll/plimsoll/plugin-sdk/go/internal/guest"
	"github.com/plimsoll/plimsoll/plugin-sdk/go/internal/settings"
)

// The verbs as methods; the packages of the verbs have the same interfaces.
type (
	filterer interface {
		Filter(pod Pod, node Node) Verdict
	}
	scorer interface {
		Score(pod Pod, node Node) uint32
	}
	ranker interface {
		Rank(pod Pod, nodes Nodes) []uint32
	}
	preempter interface {
		Preempt(pod Pod, candidate Candidate) Preemption
	}
)

// isReady says whether this instance has read its settings.
var isReady bool

func init() {
	guest.AnswerFilter = func(node uint32) unsafe.Pointer {
		defer endAsFault()
		verdict := policy().(filterer).Filter(Pod{}, Node{node: node})
		return abi.Text(verdict.tag, verdict.reason)
	}
	guest.AnswerScore = func(node uint32) uint32 {
		defer endAsFault()
		return policy().(scorer).Score(Pod{}, Node{node: node})
	}
	guest.AnswerRank = func() unsafe.Pointer {
		defer endAsFault()
		return abi.List(policy().(ranker).Rank(Pod{}, Nodes{}))
	}
	guest.AnswerPreempt = func(candidate uint32) unsafe.Pointer {
		defer endAsFault()
		switch decision := policy().(preempter).Preempt(Pod{}, Candidate{candidate: candidate}); decision.tag {
		case replace:
			return abi.Numbers(replace, decision.victims)
		default:
			return abi.Text(decision.tag, decision.reason)
		}
	}
}

//go:wasmexport plimsoll:policy/validate@0.1.0#validate
func validate() unsafe.Pointer {
	defer endAsFault()
	if err := checked(guest.Policy()); err != nil {
		return abi.Text(1, err.Error())
	}
	return abi.Tagged(0)
}

// checked reads the settings as a module loads, or ahead of the first call of an instance. It refuses a policy that has a
// verb and lacks its Export: the host would never ask it.
func checked(own any) error {
	if own == nil {
		return fmt.Errorf("the module has no verb: call Export of a verb's package in an init function")
	}
	for _, verb := range []struct {
		name string
		has  bool
	}{
		{guest.Filter, is[filterer](own)},
		{guest.Score, is[scorer](own)},
		{guest.Rank, is[ranker](own)},
		{guest.Preempt, is[preempter](own)},
		{guest.Bind, is[binder](own)},
	} {
		if verb.has && !guest.IsExported(verb.name) {
			return fmt.Errorf("%s has the verb %s, and %[2]s.Export is not called", reflect.TypeOf(own).Elem().Name(), verb.name)
		}
	}
	return ready(own)
}

func is[T any](own any) bool {
	_, ok := own.(T)
	return ok
}

// ready reads the settings into the policy of this instance, unless an earlier call has.
func ready(own any) error {
	if isReady {
		return nil
	}
	err := settings.Decode(own, hostCalls{}.HostSettings())
	isReady = err == nil
	return err
}

// policy is the policy of this instance, with its settings.
func policy() any {
	own := guest.Policy()
	if err := ready(own); err != nil {
		importHostPanic("settings refused: " + err.Error())
	}
	return own
}

// endAsFault ends a call that panics as a fault with the text and place of the panic; its stack goes to the log.
func endAsFault() {
	cause := recover()
	if cause == nil {
		return
	}
	place := ""
	for line := range strings.Lines(stackOf(string(debug.Stack()))) {
		write(levelError, strings.TrimRight(line, "\n"))
	}
	if file, line, ok := placeOfPanic(); ok {
		place = fmt.Sprintf(", at %s:%d", file, line)
	}
	importHostPanic(fmt.Sprint(cause) + place)
}

// stackOf is the policy's part of a stack, one line for each frame: without what is above the panic, and without
// the SDK's function that called the policy.
func stackOf(stack string) string {
	if _, below, ok := strings.Cut(stack, "\npanic("); ok {
		if _, below, ok = strings.Cut(below, "\n\t"); ok {
			if _, below, ok = strings.Cut(below, "\n"); ok {
				stack = below
			}
		}
	}
	own, _, _ := strings.Cut(stack, "\ngithub.com/plimsoll/plimsoll/plugin-sdk/go/plimsoll.init")
	return strings.ReplaceAll(own, "\n\t", " at ")
}

// placeOfPanic is the first frame below the panic that is not one of Go's runtime.
func placeOfPanic() (file string, line int, ok bool) {
	counters := make([]uintptr, 32)
	frames := runtime.CallersFrames(counters[:runtime.Callers(2, counters)])
	for isBelow := false; ; {
		frame, more := frames.Next()
		if isBelow && !strings.HasPrefix(frame.Function, "runtime.") {
			return frame.File[strings.LastIndexByte(frame.File, '/')+1:], frame.Line, true
		}
		isBelow = isBelow || frame.Function == "runtime.gopanic"
		if !more {
			return "", 0, false
		}
	}
}
