// Prints generated pods and nodes, a line for each pair, with what kube-scheduler's own filters say of them.
//
// Usage: filters SEED PODS. Each pod is asked about four nodes.
package main

import (
	"context"
	"encoding/json"
	"math/rand"
	"os"
	"slices"
	"strconv"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/apis/config"
	"k8s.io/kubernetes/pkg/scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/feature"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/nodeaffinity"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/nodename"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/nodeports"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/noderesources"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/nodeunschedulable"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/tainttoleration"
)

type rejection struct {
	Plugin       string
	Reasons      []string
	Unresolvable bool
}

type line struct {
	Pod       *v1.Pod
	Node      *v1.Node
	Placed    []*v1.Pod
	Rejection *rejection
}

// Plugins in the order of the default profile.
func plugins() (all []fwk.Plugin) {
	fts := feature.NewSchedulerFeaturesFromGates(utilfeature.DefaultFeatureGate)
	fts.EnableTaintTolerationComparisonOperators = true
	fts.EnableDRAExtendedResource = false
	strategy := &config.ScoringStrategy{Type: config.LeastAllocated, Resources: []config.ResourceSpec{{Name: "cpu", Weight: 1}}}
	for _, plugin := range []struct {
		new  func(context.Context, runtime.Object, fwk.Handle, feature.Features) (fwk.Plugin, error)
		args runtime.Object
	}{
		{nodename.New, nil}, {nodeunschedulable.New, nil}, {tainttoleration.New, nil},
		{nodeaffinity.New, &config.NodeAffinityArgs{}}, {nodeports.New, nil},
		{noderesources.NewFit, &config.NodeResourcesFitArgs{IgnoredResources: []string{"x.com/ignored"}, ScoringStrategy: strategy}},
	} {
		made, err := plugin.new(context.Background(), plugin.args, nil, fts)
		if err != nil {
			panic(err)
		}
		all = append(all, made)
	}
	return all
}

func ask(all []fwk.Plugin, pod *v1.Pod, node *v1.Node, placed []*v1.Pod) *rejection {
	info := framework.NewNodeInfo(placed...)
	info.SetNode(node)
	state, ctx := framework.NewCycleState(), context.Background()
	for _, plugin := range all {
		if pre, ok := plugin.(fwk.PreFilterPlugin); ok {
			// What NodeAffinity already knows here it says of each node, too.
			if _, status := pre.PreFilter(ctx, state, pod, []fwk.NodeInfo{info}); status.IsSkip() {
				continue
			}
		}
		if status := plugin.(fwk.FilterPlugin).Filter(ctx, state, pod, info); !status.IsSuccess() {
			reasons := slices.Sorted(slices.Values(status.Reasons()))
			return &rejection{plugin.Name(), reasons, status.Code() == fwk.UnschedulableAndUnresolvable}
		}
	}
	return nil
}

type random struct{ *rand.Rand }

func (r random) percent(p int) bool         { return r.Intn(100) < p }
func (r random) pick(of ...string) string   { return of[r.Intn(len(of))] }
func (r random) some(of ...string) []string { return of[r.Intn(len(of)):][:r.Intn(2)] }

func list[T any](r random, percent, most int, make func() T) (all []T) {
	for n := r.Intn(most); n >= 0 && r.percent(percent); n-- {
		all = append(all, make())
	}
	return all
}

var amounts = []struct {
	name v1.ResourceName
	of   []string
}{
	{"cpu", []string{"0", "100m", "500m", "1", "1.5", "2", "4"}}, {"memory", []string{"0", "1", "1Gi", "1.5Gi", "4Gi"}},
	{"ephemeral-storage", []string{"1Gi", "2Gi"}}, {"hugepages-2Mi", []string{"2Mi", "4Mi"}},
	{"x.com/gpu", []string{"0", "1", "2"}}, {"x.com/ignored", []string{"1"}},
}

func (r random) resources(percent int) v1.ResourceList {
	all := v1.ResourceList{}
	for _, amount := range amounts {
		if r.percent(percent) {
			all[amount.name] = resource.MustParse(r.pick(amount.of...))
		}
	}
	return all
}

func (r random) container() v1.Container {
	port := func() v1.ContainerPort {
		return v1.ContainerPort{ContainerPort: 80, HostPort: int32(r.Intn(3)), HostIP: r.pick("", "0.0.0.0", "10.0.0.1", "10.0.0.2"),
			Protocol: v1.Protocol(r.pick("", "TCP", "UDP"))}
	}
	return v1.Container{Ports: list(r, 50, 2, port), Resources: v1.ResourceRequirements{Requests: r.resources(12)}}
}

func (r random) initContainer() v1.Container {
	container, always := r.container(), v1.ContainerRestartPolicyAlways
	if r.percent(50) {
		container.RestartPolicy = &always
	}
	return container
}

func (r random) requirement() v1.NodeSelectorRequirement {
	one := v1.NodeSelectorRequirement{Key: r.pick("zone", "gen"), Operator: v1.NodeSelectorOperator(r.pick("In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt", "Like"))}
	switch {
	case r.percent(5):
		one.Values = r.some("a", "7")
	case one.Operator == "Gt" || one.Operator == "Lt":
		one.Values = []string{r.pick("6", "7", "08", "x")}
	case one.Operator == "In" || one.Operator == "NotIn":
		one.Values = append(r.some("b", "8"), r.pick("a", "7"))
	}
	return one
}

func (r random) term() v1.NodeSelectorTerm {
	field := func() v1.NodeSelectorRequirement {
		return v1.NodeSelectorRequirement{Key: "metadata.name", Operator: v1.NodeSelectorOperator(r.pick("In", "In", "NotIn", "Exists")),
			Values: append(r.some("n2"), r.pick("n1", "n2"))}
	}
	return v1.NodeSelectorTerm{MatchExpressions: list(r, 70, 2, r.requirement), MatchFields: list(r, 25, 2, field)}
}

func (r random) pod() *v1.Pod {
	toleration := func() v1.Toleration {
		return v1.Toleration{Key: r.pick("", "k", "l", v1.TaintNodeUnschedulable), Operator: v1.TolerationOperator(r.pick("", "Equal", "Exists", "Exists", "Gt", "Lt", "Like")),
			Value: r.pick("", "v", "5", "-5", "05", "+5"), Effect: v1.TaintEffect(r.pick("", "NoSchedule", "NoExecute", "PreferNoSchedule"))}
	}
	pod := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "p"}, Spec: v1.PodSpec{
		Containers: append(list(r, 30, 2, r.container), r.container()), InitContainers: list(r, 25, 2, r.initContainer), Tolerations: list(r, 80, 4, toleration),
	}}
	if r.percent(5) {
		pod.Spec.NodeName = r.pick("n1", "n2")
	}
	if r.percent(10) {
		pod.Spec.NodeSelector = map[string]string{r.pick("zone", "gen"): r.pick("a", "7")}
	}
	if r.percent(25) {
		pod.Spec.Affinity = &v1.Affinity{NodeAffinity: &v1.NodeAffinity{}}
		if r.percent(90) {
			pod.Spec.Affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution = &v1.NodeSelector{NodeSelectorTerms: list(r, 90, 3, r.term)}
		}
	}
	if r.percent(10) {
		pod.Spec.Overhead = r.resources(20)
	}
	return pod
}

func (r random) node() *v1.Node {
	taint := func() v1.Taint {
		return v1.Taint{Key: r.pick("k", "l"), Value: r.pick("", "v", "4", "6", "-6", "06"), Effect: v1.TaintEffect(r.pick("NoSchedule", "NoExecute", "PreferNoSchedule"))}
	}
	node := &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: r.pick("n1", "n2"), Labels: map[string]string{}}}
	node.Spec.Unschedulable, node.Spec.Taints = r.percent(5), list(r, 30, 2, taint)
	for _, label := range list(r, 80, 2, func() string { return r.pick("zone", "gen") }) {
		node.Labels[label] = r.pick("a", "b", "7", "8")
	}
	node.Status.Allocatable = r.resources(50)
	node.Status.Allocatable["cpu"] = resource.MustParse(r.pick("2", "4", "3900m"))
	node.Status.Allocatable["memory"] = resource.MustParse(r.pick("4Gi", "8Gi"))
	node.Status.Allocatable["pods"] = resource.MustParse(r.pick("1", "110", "110"))
	return node
}

func main() {
	seed, _ := strconv.ParseInt(os.Args[1], 10, 64)
	pods, _ := strconv.Atoi(os.Args[2])
	r, all, out := random{rand.New(rand.NewSource(seed))}, plugins(), json.NewEncoder(os.Stdout)
	for range pods {
		pod := r.pod()
		for range 4 {
			node, placed := r.node(), list(r, 50, 2, r.pod)
			for _, pod := range placed {
				pod.Spec.NodeName = node.Name
			}
			if err := out.Encode(line{pod, node, placed, ask(all, pod, node, placed)}); err != nil {
				panic(err)
			}
		}
	}
}
