// Package settings reads the settings of a policy from JSON.
package settings

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"reflect"
	"strings"
)

// Decode reads the settings into the policy, a pointer, and asks its Validate method if it has one. A field that the
// text does not name keeps its value; a map or a slice that it names is replaced as a whole. The text `null` names nothing.
func Decode(policy any, text string) error {
	if err := prepare(reflect.ValueOf(policy), json.RawMessage(text), ""); err != nil {
		return explained(err, policy, text)
	}
	decoder := json.NewDecoder(strings.NewReader(text))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(policy); err != nil {
		return explained(err, policy, text)
	}
	if own, ok := policy.(interface{ Validate() error }); ok {
		return own.Validate()
	}
	return nil
}

// explained says where the settings are wrong and what was expected, in the words of an operator.
func explained(err error, policy any, text string) error {
	var unknown unknownKey
	if errors.As(err, &unknown) {
		return noField(string(unknown), policy)
	}
	var wrong *json.UnmarshalTypeError
	if errors.As(err, &wrong) {
		field := wrong.Field
		// The decoder names no keys of maps.
		if path := pathAt(text, wrong.Offset); strings.HasPrefix(path, field+".") {
			field = path
		}
		if field == "" {
			field = "the settings"
		}
		return fmt.Errorf("%s: expected %s, found %s", field, kind(wrong.Type), found(wrong.Value))
	}
	if name, ok := strings.CutPrefix(err.Error(), "json: unknown field "); ok {
		return noField(strings.Trim(name, `"`), policy)
	}
	return err
}

func noField(key string, policy any) error {
	return fmt.Errorf("there is no field %s; expected %s", key, fields(policy))
}

// pathAt is the path of the value whose first token ends at the offset or after it: the keys of the objects around it.
func pathAt(text string, offset int64) string {
	type level struct {
		key               string
		isObject, hasName bool
	}
	decoder := json.NewDecoder(strings.NewReader(text))
	levels := []level{{}}
	for {
		token, err := decoder.Token()
		if err != nil {
			return ""
		}
		top := &levels[len(levels)-1]
		if token == json.Delim('}') || token == json.Delim(']') {
			levels = levels[:len(levels)-1]
			continue
		}
		if key, isText := token.(string); isText && top.isObject && !top.hasName {
			top.key, top.hasName = key, true
			continue
		}
		if decoder.InputOffset() >= offset {
			break
		}
		top.hasName = false
		if token == json.Delim('{') || token == json.Delim('[') {
			// The key stays until the value is over: it is the path of what is within.
			levels = append(levels, level{isObject: token == json.Delim('{')})
		}
	}
	var keys []string
	for _, level := range levels {
		if level.isObject {
			keys = append(keys, level.key)
		}
	}
	return strings.Join(keys, ".")
}

// fields lists the settings that a policy has, with those of the structs within it.
func fields(policy any) string {
	names := named(reflect.TypeOf(policy).Elem(), "")
	if len(names) == 0 {
		return "none"
	}
	return strings.Join(names, ", ")
}

func named(of reflect.Type, prefix string) []string {
	var names []string
	if of.Kind() != reflect.Struct {
		return nil
	}
	for at := range of.NumField() {
		field := of.Field(at)
		name, isSetting := settingOf(field)
		if isEmbedded(field) {
			names = append(names, named(target(reflect.Zero(field.Type)).Type(), prefix)...)
			continue
		}
		if !isSetting {
			continue
		}
		if name == "" {
			name = field.Name
		}
		if inner := named(field.Type, prefix+name+"."); len(inner) > 0 {
			names = append(names, inner...)
		} else {
			names = append(names, prefix+name)
		}
	}
	return names
}

// found is the kind of a JSON value with its article; a type of the SDK gives the value itself.
func found(value string) string {
	switch value {
	case "bool":
		return "true or false"
	case "string", "number":
		return "a " + value
	case "array":
		return "a list"
	case "object":
		return "an object"
	}
	return strings.TrimPrefix(value, "number ")
}

func kind(of reflect.Type) string {
	if named, ok := reflect.New(of).Interface().(interface{ Expected() string }); ok {
		return named.Expected()
	}
	switch of.Kind() {
	case reflect.Bool:
		return "true or false"
	case reflect.String:
		return "a string"
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		least := int64(-1) << (of.Bits() - 1)
		return fmt.Sprintf("a whole number from %d to %d", least, -(least + 1))
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return fmt.Sprintf("a whole number from 0 to %d", uint64(math.MaxUint64)>>(64-of.Bits()))
	case reflect.Float32:
		return "a number from -3.4e38 to 3.4e38"
	case reflect.Float64:
		return "a number from -1.8e308 to 1.8e308"
	case reflect.Slice, reflect.Array:
		return "a list"
	case reflect.Map, reflect.Struct:
		return "an object"
	}
	return of.String()
}
