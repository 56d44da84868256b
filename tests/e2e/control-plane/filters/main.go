// Prints generated pods and clusters, a line for each pod, with what kube-scheduler's own filters say of each node.
//
// Usage: filters SEED PODS. Each pod is asked about the four nodes of a cluster of its own.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand"
	"os"
	"slices"
	"strconv"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/util/workqueue"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/apis/config"
	"k8s.io/kubernetes/pkg/scheduler/backend/cache"
	"k8s.io/kubernetes/pkg/scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/feature"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/interpodaffinity"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/nodeaffinity"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/nodename"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/nodeports"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/noderesources"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/nodeunschedulable"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/podtopologyspread"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/tainttoleration"
)

type rejection struct {
	Plugin       string
	Reasons      []string
	Unresolvable bool
}

type line struct {
	Pod        *v1.Pod
	Nodes      []*v1.Node
	Placed     []*v1.Pod
	Namespaces []*v1.Namespace
	// Of each node.
	Rejections []*rejection
}

// What the plugins need of the scheduler.
type handle struct {
	fwk.Handle
	cluster   *cache.Snapshot
	informers informers.SharedInformerFactory
}

func (h handle) SnapshotSharedLister() fwk.SharedLister                 { return h.cluster }
func (h handle) SharedInformerFactory() informers.SharedInformerFactory { return h.informers }
func (h handle) Parallelizer() fwk.Parallelizer                         { return inOrder{} }

type inOrder struct{}

func (inOrder) Until(_ context.Context, pieces int, do workqueue.DoWorkPieceFunc, _ string) {
	for at := range pieces {
		do(at)
	}
}

// Plugins in the order of the default profile.
func plugins(handle fwk.Handle) (all []fwk.Plugin) {
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
		{podtopologyspread.New, &config.PodTopologySpreadArgs{DefaultingType: config.SystemDefaulting}},
		{interpodaffinity.New, &config.InterPodAffinityArgs{}},
	} {
		made, err := plugin.new(context.Background(), plugin.args, handle, fts)
		check(err)
		all = append(all, made)
	}
	return all
}

// Sets what the plugins say of each node.
func (l *line) ask() {
	handle := handle{cluster: cache.NewSnapshot(l.Placed, l.Nodes), informers: informers.NewSharedInformerFactory(nil, 0)}
	for _, namespace := range l.Namespaces {
		check(handle.informers.Core().V1().Namespaces().Informer().GetStore().Add(namespace))
	}
	all, state, ctx := plugins(handle), framework.NewCycleState(), context.Background()
	infos, err := handle.cluster.List()
	check(err)
	skipped := map[string]bool{}
	for _, plugin := range all {
		if pre, ok := plugin.(fwk.PreFilterPlugin); ok {
			// What NodeAffinity already knows here it says of each node, too.
			_, status := pre.PreFilter(ctx, state, l.Pod, infos)
			if status.Code() == fwk.Error {
				panic(status.AsError())
			}
			skipped[plugin.Name()] = status.IsSkip()
		}
	}
	for _, node := range l.Nodes {
		info, err := handle.cluster.Get(node.Name)
		check(err)
		var found *rejection
		for _, plugin := range all {
			if skipped[plugin.Name()] {
				continue
			}
			if status := plugin.(fwk.FilterPlugin).Filter(ctx, state, l.Pod, info); !status.IsSuccess() {
				reasons := slices.Sorted(slices.Values(status.Reasons()))
				found = &rejection{plugin.Name(), reasons, status.Code() == fwk.UnschedulableAndUnresolvable}
				break
			}
		}
		l.Rejections = append(l.Rejections, found)
	}
}

func check(err error) {
	if err != nil {
		panic(err)
	}
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
			Values: append(r.some("n2"), r.pick("n1", "n2", "n3"))}
	}
	return v1.NodeSelectorTerm{MatchExpressions: list(r, 70, 2, r.requirement), MatchFields: list(r, 25, 2, field)}
}

// A selector of pods; where it may be broken, kube-scheduler may not be able to read it.
func (r random) selector(broken bool) *metav1.LabelSelector {
	if r.percent(5) {
		return nil
	}
	selector := &metav1.LabelSelector{MatchLabels: map[string]string{}}
	if r.percent(70) {
		selector.MatchLabels["app"] = r.pick("web", "web", "db")
	}
	if r.percent(30) {
		one := metav1.LabelSelectorRequirement{Key: r.pick("app", "tier", "tenant"),
			Operator: metav1.LabelSelectorOperator(r.pick("In", "NotIn", "Exists", "DoesNotExist"))}
		if one.Operator == "In" || one.Operator == "NotIn" {
			one.Values = append(r.some("us", "front"), r.pick("web", "db", "them"))
		}
		if broken && r.percent(10) {
			one.Operator = "Like"
		}
		selector.MatchExpressions = append(selector.MatchExpressions, one)
	}
	return selector
}

func (r random) topologyKey() string { return r.pick("zone", "zone", "gen", v1.LabelHostname) }

func (r random) affinityTerm(labels map[string]string, broken bool) v1.PodAffinityTerm {
	term := v1.PodAffinityTerm{TopologyKey: r.topologyKey(), LabelSelector: r.selector(broken), Namespaces: r.some("default", "web", "other")}
	switch r.Intn(6) {
	case 0:
		term.NamespaceSelector = &metav1.LabelSelector{}
	case 1:
		term.NamespaceSelector = &metav1.LabelSelector{MatchLabels: map[string]string{"tenant": r.pick("us", "them")}}
	case 2:
		term.NamespaceSelector = r.selector(broken)
	}
	// As the API server stores it.
	if term.LabelSelector != nil && r.percent(15) {
		merge := func(key string, operator metav1.LabelSelectorOperator) {
			if value, has := labels[key]; has {
				one := metav1.LabelSelectorRequirement{Key: key, Operator: operator, Values: []string{value}}
				term.LabelSelector.MatchExpressions = append(term.LabelSelector.MatchExpressions, one)
			}
		}
		if r.percent(50) {
			term.MatchLabelKeys = []string{"tier"}
			merge("tier", metav1.LabelSelectorOpIn)
		} else {
			term.MismatchLabelKeys = []string{"tier"}
			merge("tier", metav1.LabelSelectorOpNotIn)
		}
	}
	return term
}

func (r random) spread() v1.TopologySpreadConstraint {
	policy := func() *v1.NodeInclusionPolicy {
		return map[string]*v1.NodeInclusionPolicy{"Honor": new(v1.NodeInclusionPolicyHonor), "Ignore": new(v1.NodeInclusionPolicyIgnore)}[r.pick("", "Honor", "Ignore")]
	}
	one := v1.TopologySpreadConstraint{MaxSkew: int32(1 + r.Intn(2)), TopologyKey: r.topologyKey(), LabelSelector: r.selector(false),
		WhenUnsatisfiable:  v1.UnsatisfiableConstraintAction(r.pick("DoNotSchedule", "DoNotSchedule", "DoNotSchedule", "ScheduleAnyway")),
		NodeAffinityPolicy: policy(), NodeTaintsPolicy: policy(), MatchLabelKeys: r.some("app", "tier", "absent")}
	if r.percent(30) {
		one.MinDomains = new(int32(1 + r.Intn(4)))
	}
	return one
}

// Where the pod is placed, its terms may be broken. A modest pod asks for no resources.
func (r random) pod(placed, modest bool) *v1.Pod {
	toleration := func() v1.Toleration {
		return v1.Toleration{Key: r.pick("", "k", "l", v1.TaintNodeUnschedulable), Operator: v1.TolerationOperator(r.pick("", "Equal", "Exists", "Exists", "Gt", "Lt", "Like")),
			Value: r.pick("", "v", "5", "-5", "05", "+5"), Effect: v1.TaintEffect(r.pick("", "NoSchedule", "NoExecute", "PreferNoSchedule"))}
	}
	pod := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "p", Namespace: r.pick("default", "default", "default", "web", "other"), Labels: map[string]string{}}}
	if r.percent(90) {
		pod.Labels["app"] = r.pick("web", "web", "db")
	}
	if r.percent(50) {
		pod.Labels["tier"] = r.pick("front", "web")
	}
	if placed && r.percent(15) {
		pod.DeletionTimestamp = &metav1.Time{Time: time.Unix(0, 0)}
	}
	pod.Spec.Affinity = &v1.Affinity{}
	term := func() v1.PodAffinityTerm { return r.affinityTerm(pod.Labels, placed) }
	if r.percent(20) {
		pod.Spec.Affinity.PodAffinity = &v1.PodAffinity{RequiredDuringSchedulingIgnoredDuringExecution: list(r, 70, 2, term)}
	}
	if r.percent(25) {
		pod.Spec.Affinity.PodAntiAffinity = &v1.PodAntiAffinity{RequiredDuringSchedulingIgnoredDuringExecution: list(r, 70, 2, term)}
	}
	if r.percent(50) {
		pod.Spec.TopologySpreadConstraints = list(r, 80, 3, r.spread)
	}
	if r.percent(10) {
		pod.Spec.NodeSelector = map[string]string{r.pick("zone", "gen"): r.pick("a", "7")}
	}
	if r.percent(25) {
		pod.Spec.Affinity.NodeAffinity = &v1.NodeAffinity{}
		if r.percent(90) {
			pod.Spec.Affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution = &v1.NodeSelector{NodeSelectorTerms: list(r, 90, 3, r.term)}
		}
	}
	if modest {
		pod.Spec.Tolerations = list(r, 50, 1, toleration)
		return pod
	}
	pod.Spec.Containers = append(list(r, 30, 2, r.container), r.container())
	pod.Spec.InitContainers, pod.Spec.Tolerations = list(r, 25, 2, r.initContainer), list(r, 80, 4, toleration)
	if r.percent(5) {
		pod.Spec.NodeName = r.pick("n1", "n2")
	}
	if r.percent(10) {
		pod.Spec.Overhead = r.resources(20)
	}
	return pod
}

func (r random) node(name string, modest bool) *v1.Node {
	taint := func() v1.Taint {
		return v1.Taint{Key: r.pick("k", "l"), Value: r.pick("", "v", "4", "6", "-6", "06"), Effect: v1.TaintEffect(r.pick("NoSchedule", "NoExecute", "PreferNoSchedule"))}
	}
	node := &v1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{}}}
	node.Spec.Unschedulable, node.Spec.Taints = r.percent(5), list(r, 30, 2, taint)
	for _, label := range list(r, 90, 3, func() string { return r.pick("zone", "zone", "gen") }) {
		node.Labels[label] = r.pick("a", "a", "b", "7", "8")
	}
	if r.percent(90) {
		node.Labels[v1.LabelHostname] = name
	}
	node.Status.Allocatable = r.resources(50)
	node.Status.Allocatable["cpu"] = resource.MustParse(r.pick("2", "4", "3900m"))
	node.Status.Allocatable["memory"] = resource.MustParse(r.pick("4Gi", "8Gi"))
	node.Status.Allocatable["pods"] = resource.MustParse(r.pick("1", "110", "110"))
	if modest {
		node.Spec.Unschedulable, node.Spec.Taints = false, list(r, 25, 2, taint)
		node.Status.Allocatable["pods"] = resource.MustParse("110")
	}
	return node
}

func main() {
	seed, _ := strconv.ParseInt(os.Args[1], 10, 64)
	pods, _ := strconv.Atoi(os.Args[2])
	r, out := random{rand.New(rand.NewSource(seed))}, json.NewEncoder(os.Stdout)
	for range pods {
		modest := r.percent(60)
		line := line{Pod: r.pod(false, modest)}
		for _, name := range []string{"default", "web", "other"} {
			labels := map[string]string{"kubernetes.io/metadata.name": name, "tenant": r.pick("us", "them")}
			line.Namespaces = append(line.Namespaces, &v1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels}})
		}
		for at := range 4 {
			node := r.node(fmt.Sprint("n", at+1), modest)
			line.Nodes = append(line.Nodes, node)
			for range r.Intn(5) {
				pod := r.pod(true, modest)
				pod.Spec.NodeName, pod.UID = node.Name, types.UID(fmt.Sprint(len(line.Placed)))
				line.Placed = append(line.Placed, pod)
			}
		}
		line.ask()
		check(out.Encode(line))
	}
}
