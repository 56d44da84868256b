package settings

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// unknownKey is a key that is not exactly the name of a field, with its path.
type unknownKey string

func (k unknownKey) Error() string { return "there is no field " + string(k) }

// prepare empties the maps and slices that the text names, since encoding/json adds to a map, and to the elements of a
// slice. It refuses the first key that is not exactly the name of a field, since encoding/json takes a key in any case,
// and the first null that no field can be, since encoding/json ignores it. Values of another wrong kind are left to the
// decoder.
func prepare(value reflect.Value, text json.RawMessage, path string) error {
	if path != "" && string(text) == "null" {
		return null(value.Type(), strings.TrimSuffix(path, "."))
	}
	if value.CanAddr() {
		if _, ok := value.Addr().Interface().(json.Unmarshaler); ok {
			return nil
		}
	}
	switch value.Kind() {
	case reflect.Pointer:
		return prepare(target(value), text, path)
	case reflect.Struct:
		return prepareFields(value, text, path)
	case reflect.Map:
		var object map[string]json.RawMessage
		if json.Unmarshal(text, &object) != nil {
			return nil
		}
		element := value.Type().Elem()
		for _, key := range slices.Sorted(maps.Keys(object)) {
			if wrong := prepare(reflect.New(element).Elem(), object[key], path+key+"."); wrong != nil {
				return wrong
			}
		}
		value.SetZero()
	case reflect.Slice:
		var list []json.RawMessage
		if json.Unmarshal(text, &list) != nil {
			return nil
		}
		element, path := value.Type().Elem(), strings.TrimSuffix(path, ".")
		for at, own := range list {
			if wrong := prepare(reflect.New(element).Elem(), own, path+"["+strconv.Itoa(at)+"]."); wrong != nil {
				return wrong
			}
		}
		value.SetZero()
	}
	return nil
}

func prepareFields(value reflect.Value, text json.RawMessage, path string) error {
	var object map[string]json.RawMessage
	if json.Unmarshal(text, &object) != nil {
		return nil
	}
	for _, key := range slices.Sorted(maps.Keys(object)) {
		field, ok := fieldOf(value, key)
		if !ok {
			return unknownKey(path + key)
		}
		if wrong := prepare(field, object[key], path+key+"."); wrong != nil {
			return wrong
		}
	}
	return nil
}

// null refuses a null for a value that is neither a pointer nor an interface. A type with an UnmarshalJSON
// decides for itself, unless it says what it expects.
func null(of reflect.Type, path string) error {
	own := reflect.New(of).Interface()
	_, decides := own.(json.Unmarshaler)
	_, expects := own.(interface{ Expected() string })
	if of.Kind() == reflect.Pointer || of.Kind() == reflect.Interface || decides && !expects {
		return nil
	}
	return fmt.Errorf("%s: expected %s, found null", path, kind(of))
}

// fieldOf is the field for a key, those of embedded structs included.
func fieldOf(value reflect.Value, key string) (field reflect.Value, ok bool) {
	for at := range value.NumField() {
		field := value.Type().Field(at)
		name, isSetting := settingOf(field)
		if isEmbedded(field) {
			if inner, ok := fieldOf(target(value.Field(at)), key); ok {
				return inner, true
			}
		} else if isSetting && (name == key || name == "" && field.Name == key) {
			return value.Field(at), true
		}
	}
	return reflect.Value{}, false
}

// isEmbedded says whether the fields of a struct are settings of the one that has it.
func isEmbedded(field reflect.StructField) bool {
	name, _ := settingOf(field)
	of := field.Type
	if of.Kind() == reflect.Pointer {
		of = of.Elem()
	}
	return field.Anonymous && name == "" && of.Kind() == reflect.Struct
}

// target is the value that a pointer points to, or a new one for a nil pointer.
func target(value reflect.Value) reflect.Value {
	if value.Kind() != reflect.Pointer {
		return value
	}
	if value.IsNil() {
		return reflect.New(value.Type().Elem()).Elem()
	}
	return value.Elem()
}

// settingOf is the name that the tag gives a field, and whether settings have the field.
func settingOf(field reflect.StructField) (name string, isSetting bool) {
	tag := field.Tag.Get("json")
	name, _, _ = strings.Cut(tag, ",")
	return name, field.IsExported() && tag != "-"
}
