package main

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	resource "k8s.io/api/resource/v1"
)

// Prints the fields of the objects that people write: a line for each type, with the type of each field that has fields,
// or is a map of texts.
func printFields() {
	types := map[string]string{}
	for _, kind := range []any{v1.Pod{}, v1.Node{}, v1.Namespace{}, resource.DeviceClass{}} {
		addFields(types, reflect.TypeOf(kind))
	}
	var lines []string
	for name, fields := range types {
		lines = append(lines, name+fields)
	}
	slices.Sort(lines)
	fmt.Println(strings.Join(lines, "\n"))
}

func addFields(types map[string]string, of reflect.Type) {
	types[of.Name()] = ""
	types[of.Name()] = fieldsOf(types, of)
}

func fieldsOf(types map[string]string, of reflect.Type) (fields string) {
	for at := range of.NumField() {
		field, kind := of.Field(at), of.Field(at).Type
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		for kind.Kind() == reflect.Pointer || kind.Kind() == reflect.Slice {
			kind = kind.Elem()
		}
		// Times, quantities and the like are written as one value.
		hasOwnForm := reflect.PointerTo(kind).Implements(reflect.TypeFor[json.Unmarshaler]())
		switch {
		case kind == reflect.TypeFor[map[string]string]():
			fields += " " + name + ":texts"
		case name == "" && field.Anonymous:
			fields += fieldsOf(types, kind)
		case kind.Kind() == reflect.Struct && !hasOwnForm:
			fields += " " + name + ":" + kind.Name()
			if _, known := types[kind.Name()]; !known {
				addFields(types, kind)
			}
		default:
			fields += " " + name
		}
	}
	return fields
}
