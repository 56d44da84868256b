package main

import (
	"fmt"
	"maps"
	"reflect"
	"slices"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"
	apiservercel "k8s.io/apiserver/pkg/cel"
)

var (
	pod      = cel.ObjectType("Pod")
	node     = cel.ObjectType("Node")
	placed   = cel.ObjectType("Placed")
	owner    = cel.ObjectType("Owner")
	taint    = cel.ObjectType("Taint")
	facts    = cel.ObjectType("Facts")
	cluster  = cel.ObjectType("Cluster")
	settings = cel.ObjectType("Settings")
	texts    = cel.MapType(cel.StringType, cel.StringType)
)

// The closed schema, as plimsoll declares it.
var schema = map[string]map[string]*cel.Type{
	"Pod": {"name": cel.StringType, "namespace": cel.StringType, "labels": texts, "annotations": texts,
		"priority": cel.IntType, "priorityClass": cel.StringType, "controller": owner, "created": cel.TimestampType,
		"images": cel.ListType(cel.StringType)},
	"Node": {"name": cel.StringType, "labels": texts, "annotations": texts, "conditions": texts,
		"taints": cel.ListType(taint), "unschedulable": cel.BoolType},
	"Placed": {"name": cel.StringType, "namespace": cel.StringType, "labels": texts, "annotations": texts,
		"priority": cel.IntType, "priorityClass": cel.StringType, "phase": cel.StringType},
	"Owner":    {"apiVersion": cel.StringType, "kind": cel.StringType, "name": cel.StringType, "uid": cel.StringType},
	"Taint":    {"key": cel.StringType, "value": cel.StringType, "effect": cel.StringType},
	"Settings": {"max": cel.IntType, "share": cel.DoubleType, "tiers": cel.ListType(cel.StringType)},
	"Facts":    {}, "Cluster": {},
}

// An object of the schema; what JSON has beside its fields is for its functions.
type object struct {
	Type_  *cel.Type
	fields map[string]ref.Val
	json   map[string]any
}

func objectOf(ty *cel.Type, json map[string]any) ref.Val {
	fields := map[string]ref.Val{}
	for name, field := range schema[ty.TypeName()] {
		if value, has := json[name]; has {
			fields[name] = valueOf(field, value)
		}
	}
	return &object{ty, fields, json}
}

func (o *object) ConvertToNative(reflect.Type) (any, error) {
	return nil, fmt.Errorf("it is an object")
}
func (o *object) ConvertToType(ref.Type) ref.Val { return types.NewErr("it is an object") }
func (o *object) Equal(ref.Val) ref.Val          { return types.False }
func (o *object) Type() ref.Type                 { return o.Type_ }
func (o *object) Value() any                     { return o }
func (o *object) IsSet(name ref.Val) ref.Val {
	_, has := o.fields[name.Value().(string)]
	return types.Bool(has)
}
func (o *object) Get(name ref.Val) ref.Val {
	if value, has := o.fields[name.Value().(string)]; has {
		return value
	}
	return types.NewErr("no such key: %s", name.Value())
}

// A map of texts in which an absent key reads as the empty text, unless its presence is asked for.
type textMap struct{ traits.Mapper }

// Only these of a map: with `Find` the interpreter would not tell the two apart.
type lenient struct{ textMap textMap }

func textsOf(value any) ref.Val {
	native := map[string]string{}
	for key, text := range value.(map[string]any) {
		native[key] = text.(string)
	}
	return lenient{textMap{types.NewStringStringMap(types.DefaultTypeAdapter, native)}}
}

func (l lenient) ConvertToNative(ty reflect.Type) (any, error) { return l.textMap.ConvertToNative(ty) }
func (l lenient) ConvertToType(ty ref.Type) ref.Val            { return l.textMap.ConvertToType(ty) }
func (l lenient) Equal(other ref.Val) ref.Val                  { return types.False }
func (l lenient) Type() ref.Type                               { return texts }
func (l lenient) Value() any                                   { return l }
func (l lenient) Contains(key ref.Val) ref.Val                 { return l.textMap.Contains(key) }
func (l lenient) IsSet(key ref.Val) ref.Val                    { return l.textMap.Contains(key) }
func (l lenient) Get(key ref.Val) ref.Val {
	if value, found := l.textMap.Find(key); found {
		return value
	}
	return types.String("")
}

// In the order of the keys, as plimsoll runs over them.
func (l lenient) Iterator() traits.Iterator {
	keys := slices.Sorted(maps.Keys(l.textMap.Value().(map[string]string)))
	return types.NewStringList(types.DefaultTypeAdapter, keys).Iterator()
}

// Knows the schema beside what Kubernetes knows.
type knowing struct{ types.Provider }

func provider(env *cel.Env) (*cel.Env, error) {
	return cel.CustomTypeProvider(knowing{env.CELTypeProvider()})(env)
}

func (k knowing) FindStructType(name string) (*types.Type, bool) {
	if _, is := schema[name]; is {
		return types.NewTypeTypeWithParam(cel.ObjectType(name)), true
	}
	return k.Provider.FindStructType(name)
}

func (k knowing) FindStructFieldNames(name string) ([]string, bool) {
	if fields, is := schema[name]; is {
		return slices.Collect(maps.Keys(fields)), true
	}
	return k.Provider.FindStructFieldNames(name)
}

func (k knowing) FindStructFieldType(name, field string) (*types.FieldType, bool) {
	fields, is := schema[name]
	if !is {
		return k.Provider.FindStructFieldType(name, field)
	}
	ty, is := fields[field]
	return &types.FieldType{
		Type: ty,
		IsSet: func(target any) bool {
			_, has := target.(*object).fields[field]
			return has
		},
		GetFrom: func(target any) (any, error) {
			if value, has := target.(*object).fields[field]; has {
				return value, nil
			}
			return nil, fmt.Errorf("no such key: %s", field)
		},
	}, is
}

// === functions ===

func method(name string, on *cel.Type, arguments []*cel.Type, result *cel.Type, call func(*object, []string) ref.Val) cel.EnvOption {
	id := fmt.Sprint(on, "_", name, "_", len(arguments))
	return cel.Function(name, cel.MemberOverload(id, append([]*cel.Type{on}, arguments...), result,
		cel.FunctionBinding(func(values ...ref.Val) ref.Val {
			var texts []string
			for _, value := range values[1:] {
				texts = append(texts, fmt.Sprint(value.Value()))
			}
			return call(values[0].(*object), texts)
		})))
}

// The entry of a table of the object that the test gives.
func entry(o *object, table, key string) (any, bool) {
	entries, _ := o.json[table].(map[string]any)
	value, has := entries[key]
	return value, has
}

func optional(value any, has bool, make func(any) ref.Val) ref.Val {
	if !has {
		return types.OptionalNone
	}
	return types.OptionalOf(make(value))
}

func functions() []cel.EnvOption {
	one, two, three := []*cel.Type{cel.StringType}, []*cel.Type{cel.StringType, cel.StringType}, []*cel.Type{cel.StringType, cel.StringType, cel.StringType}
	resource := func(name string, on *cel.Type, table string) cel.EnvOption {
		return method(name, on, one, apiservercel.QuantityType, func(o *object, of []string) ref.Val {
			value, _ := entry(o, table, of[0])
			return amount(of[0], value)
		})
	}
	text := func(value any) ref.Val { return types.String(value.(string)) }
	count := func(list ref.Val, fits func(*object) bool) ref.Val {
		found := 0
		for it := list.(traits.Lister).Iterator(); it.HasNext() == types.True; {
			if fits(it.Next().(*object)) {
				found++
			}
		}
		return types.Int(found)
	}
	labelled := func(of []string) func(*object) bool {
		return func(pod *object) bool {
			value, has := entry(pod, "labels", of[1])
			return pod.json["namespace"] == of[0] && has && value == of[2]
		}
	}
	list := cel.ListType(placed)
	return []cel.EnvOption{
		resource("request", pod, "requests"), resource("request", placed, "requests"),
		resource("allocatable", node, "allocatable"), resource("capacity", node, "capacity"),
		resource("requested", node, "requested"), resource("free", node, "free"),
		method("imageSize", node, one, cel.OptionalType(cel.IntType), func(o *object, of []string) ref.Val {
			value, has := entry(o, "images", of[0])
			return optional(value, has, func(value any) ref.Val { return types.Int(value.(float64)) })
		}),
		method("text", facts, two, cel.OptionalType(cel.StringType), func(o *object, of []string) ref.Val {
			value, has := entry(o, of[0], of[1])
			return optional(value, has, text)
		}),
		method("label", cluster, two, cluster, func(o *object, of []string) ref.Val {
			pods := o.fields["pods"].(traits.Lister)
			var kept []ref.Val
			for it := pods.Iterator(); it.HasNext() == types.True; {
				pod := it.Next()
				if value, has := entry(pod.(*object), "labels", of[0]); has && value == of[1] {
					kept = append(kept, pod)
				}
			}
			return &object{cluster, map[string]ref.Val{"pods": types.NewRefValList(types.DefaultTypeAdapter, kept)}, nil}
		}),
		method("count", cluster, nil, cel.IntType, func(o *object, _ []string) ref.Val {
			return count(o.fields["pods"], func(*object) bool { return true })
		}),
		method("atLeast", cluster, []*cel.Type{cel.IntType}, cel.BoolType, func(o *object, of []string) ref.Val {
			return types.Bool(int(count(o.fields["pods"], func(*object) bool { return true }).(types.Int)) >= number(of[0]))
		}),
		cel.Function("count",
			cel.MemberOverload("placed_count", []*cel.Type{list}, cel.IntType, cel.UnaryBinding(func(list ref.Val) ref.Val {
				return list.(traits.Lister).Size()
			})),
			cel.MemberOverload("placed_count_labelled", append([]*cel.Type{list}, three...), cel.IntType,
				cel.FunctionBinding(func(values ...ref.Val) ref.Val {
					of := []string{values[1].Value().(string), values[2].Value().(string), values[3].Value().(string)}
					return count(values[0], labelled(of))
				}))),
	}
}

func number(text string) (number int) {
	_, err := fmt.Sscan(text, &number)
	check(err)
	return
}
