// Command cel evaluates expressions as Kubernetes would: with the environment of k8s.io/apiserver/pkg/cel, and the objects
// and functions of plimsoll declared beside it.
//
// It reads a line of expressions, and then worlds, one a line. For each world it prints the values of all expressions, as
// the texts that `"=%s".format([...])` makes of them; an error is null.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"time"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/version"
	apiservercel "k8s.io/apiserver/pkg/cel"
	"k8s.io/apiserver/pkg/cel/environment"
)

func main() {
	in := bufio.NewScanner(os.Stdin)
	in.Buffer(nil, 64<<20)
	out := json.NewEncoder(os.Stdout)
	in.Scan()
	var expressions []string
	check(json.Unmarshal(in.Bytes(), &expressions))
	env := env()
	var programs []cel.Program
	var errors []string
	for _, expression := range expressions {
		compiled, issues := env.Compile(`"=%s".format([` + expression + `])`)
		if issues.Err() != nil {
			errors = append(errors, expression+": "+issues.Err().Error())
			continue
		}
		program, err := env.Program(compiled)
		check(err)
		programs = append(programs, program)
	}
	check(out.Encode(errors))
	for in.Scan() {
		var world map[string]any
		check(json.Unmarshal(in.Bytes(), &world))
		variables := variables(world)
		values := make([]any, len(programs))
		for at, program := range programs {
			value, _, err := program.Eval(variables)
			if err == nil {
				values[at] = value.Value()
			}
		}
		check(out.Encode(values))
	}
}

func env() *cel.Env {
	base := environment.MustBaseEnvSet(version.MajorMinor(1, 37))
	extended, err := base.Extend(environment.VersionedOptions{
		IntroducedVersion: version.MajorMinor(1, 0),
		EnvOptions: append(functions(), provider, cel.Variable("pod", pod), cel.Variable("node", node),
			cel.Variable("placed", cel.ListType(placed)), cel.Variable("facts", facts), cel.Variable("cluster", cluster),
			cel.Variable("now", cel.TimestampType), cel.Variable("settings", settings)),
	})
	check(err)
	return extended.NewExpressionsEnv()
}

// The values of the variables: what the test says of the objects.
func variables(world map[string]any) map[string]any {
	var pods []ref.Val
	for _, pod := range world["placed"].([]any) {
		pods = append(pods, objectOf(placed, pod.(map[string]any)))
	}
	now := time.Unix(int64(world["now"].(float64)), 0).UTC()
	return map[string]any{
		"pod":      objectOf(pod, world["pod"].(map[string]any)),
		"node":     objectOf(node, world["node"].(map[string]any)),
		"placed":   types.NewRefValList(types.DefaultTypeAdapter, pods),
		"facts":    objectOf(facts, world["facts"].(map[string]any)),
		"cluster":  &object{Type_: cluster, fields: map[string]ref.Val{"pods": types.NewRefValList(types.DefaultTypeAdapter, pods)}},
		"now":      types.Timestamp{Time: now.Truncate(time.Minute)},
		"settings": objectOf(settings, world["settings"].(map[string]any)),
	}
}

// Makes a field of an object what its type says.
func valueOf(ty *cel.Type, value any) ref.Val {
	switch {
	case ty.IsExactType(cel.IntType):
		return types.Int(value.(float64))
	case ty.IsExactType(cel.TimestampType):
		return types.Timestamp{Time: time.Unix(int64(value.(float64)), 0).UTC()}
	case ty.IsExactType(texts):
		return textsOf(value)
	case ty.Kind() == types.ListKind:
		var list []ref.Val
		for _, item := range value.([]any) {
			list = append(list, valueOf(ty.Parameters()[0], item))
		}
		return types.NewRefValList(types.DefaultTypeAdapter, list)
	case ty.Kind() == types.StructKind:
		return objectOf(ty, value.(map[string]any))
	}
	return types.DefaultTypeAdapter.NativeToValue(value)
}

// The amount of a resource: cpu in thousandths, all else in base units.
func amount(name string, value any) ref.Val {
	number, _ := value.(float64)
	if name == "cpu" {
		return apiservercel.Quantity{Quantity: resource.NewMilliQuantity(int64(number), resource.DecimalSI)}
	}
	return apiservercel.Quantity{Quantity: resource.NewQuantity(int64(number), resource.BinarySI)}
}

func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
