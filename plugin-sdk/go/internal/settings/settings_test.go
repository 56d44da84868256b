package settings

import (
	"reflect"
	"testing"
)

type limits struct {
	Name  string                       `json:"name"`
	Seats map[string]uint64            `json:"seats"`
	Pools map[string]map[string]uint64 `json:"pools"`
	Zones []uint64                     `json:"zones"`
	In    struct {
		By map[string]bool `json:"by"`
	} `json:"in"`
}

func TestAnErrorNamesTheKeyOfTheMap(t *testing.T) {
	const number = "expected a whole number from 0 to 18446744073709551615, found "
	table := map[string]string{
		`{"name": "a", "seats": {"ansys": 4, "matlab": -1}}`: "seats.matlab: " + number + "-1",
		`{"seats": {"matlab": "x", "ansys": 4}}`:             "seats.matlab: " + number + "a string",
		`{"seats": {"matlab": {"a": 1}, "ansys": 4}}`:        "seats.matlab: " + number + "an object",
		`{"seats": {"matlab": [1], "ansys": 4}}`:             "seats.matlab: " + number + "a list",
		`{"seats": {"matlab": true, "ansys": 4}}`:            "seats.matlab: " + number + "true or false",
		`{"pools": {"lab": {"ansys": 1, "matlab": -1}}}`:     "pools.lab.matlab: " + number + "-1",
		`{"in": {"by": {"a": true, "b": 1}}}`:                "in.by.b: expected true or false, found a number",
		`{"seats": [], "name": "a"}`:                         "seats: expected an object, found a list",
		`{"zones": [1, -1, 2]}`:                              "zones: " + number + "-1",
		`[1]`:                                                "the settings: expected an object, found a list",
	}
	for text, expected := range table {
		if err := Decode(&limits{}, text); err == nil || err.Error() != expected {
			t.Errorf("%s: got %v, expected %s", text, err, expected)
		}
	}
}

type shared struct {
	Team string `json:"team"`
}

type Extra struct {
	Note string `json:"note"`
}

type amount struct{ text string }

func (a *amount) UnmarshalJSON(text []byte) error {
	a.text = string(text)
	return nil
}

type pool struct {
	Name  string `json:"name"`
	Share int    `json:"share"`
}

type full struct {
	shared
	*Extra
	Seats  map[string]uint64 `json:"seats"`
	Pools  []pool            `json:"pools"`
	Own    *pool             `json:"own"`
	Most   amount            `json:"most"`
	Plain  bool
	Hidden map[string]int `json:"-"`
	Any    any            `json:"any"`
}

func defaults() full {
	return full{
		shared: shared{"a"},
		Seats:  map[string]uint64{"matlab": 40},
		Pools:  []pool{{"p", 7}},
		Own:    &pool{"q", 8},
		Hidden: map[string]int{"x": 1},
	}
}

func TestWhatTheSettingsNameIsReplacedAndTheRestStays(t *testing.T) {
	own := defaults()
	text := `{"seats": {"ansys": 2}, "pools": [{"name": "r"}], "own": {"share": 9}, "most": {"Any": 1}, "Plain": true, "any": {"b": 1}, "note": "n"}`
	if err := Decode(&own, text); err != nil {
		t.Fatal(err)
	}
	expected := defaults()
	expected.Seats, expected.Pools = map[string]uint64{"ansys": 2}, []pool{{"r", 0}}
	expected.Own, expected.Most, expected.Plain = &pool{"q", 9}, amount{`{"Any": 1}`}, true
	expected.Extra = &Extra{"n"}
	expected.Any = map[string]any{"b": 1.0}
	if !reflect.DeepEqual(own, expected) {
		t.Errorf("got %+v, expected %+v", own, expected)
	}
	for _, text := range []string{"null", "{}"} {
		own := defaults()
		if err := Decode(&own, text); err != nil || !reflect.DeepEqual(own, defaults()) {
			t.Error(text, own, err)
		}
	}
}

func TestAKeyIsExactlyTheNameOfAField(t *testing.T) {
	const rest = "; expected team, note, seats, pools, own, most, Plain, any"
	table := map[string]string{
		`{"SEATS": {}}`:   "there is no field SEATS",
		`{"plain": true}`: "there is no field plain",
		`{"Team": "x"}`:   "there is no field Team",
		`{"pools": [{"name": "p"}, {"Name": "q"}]}`:      "there is no field pools[1].Name",
		`{"own": {"Share": 1}, "team": "x", "any": "x"}`: "there is no field own.Share",
		`{"Hidden": {"x": 2}}`:                           "there is no field Hidden",
	}
	for text, expected := range table {
		own := defaults()
		if err := Decode(&own, text); err == nil || err.Error() != expected+rest {
			t.Errorf("%s: got %v, expected %s", text, err, expected+rest)
		}
	}
}

type ranges struct {
	Max   uint32  `json:"max"`
	Byte  uint8   `json:"byte"`
	Small int8    `json:"small"`
	Large int64   `json:"large"`
	Share float32 `json:"share"`
	Ratio float64 `json:"ratio"`
}

func TestANumberBeyondItsTypeIsRefusedWithTheLimits(t *testing.T) {
	table := map[string]string{
		`{"max": 4294967296}`:            "max: expected a whole number from 0 to 4294967295, found 4294967296",
		`{"max": 1.5}`:                   "max: expected a whole number from 0 to 4294967295, found 1.5",
		`{"byte": 256}`:                  "byte: expected a whole number from 0 to 255, found 256",
		`{"small": -129}`:                "small: expected a whole number from -128 to 127, found -129",
		`{"large": 9223372036854775808}`: "large: expected a whole number from -9223372036854775808 to 9223372036854775807, found 9223372036854775808",
		`{"share": 1e39}`:                "share: expected a number from -3.4e38 to 3.4e38, found 1e39",
		`{"ratio": 1e309}`:               "ratio: expected a number from -1.8e308 to 1.8e308, found 1e309",
	}
	for text, expected := range table {
		if err := Decode(&ranges{}, text); err == nil || err.Error() != expected {
			t.Errorf("%s: got %v, expected %s", text, err, expected)
		}
	}
}

func TestANullIsRefusedExceptForAPointerOrAnInterface(t *testing.T) {
	table := map[string]string{
		`{"team": null, "Plain": true}`: "team: expected a string, found null",
		`{"Plain": null}`:               "Plain: expected true or false, found null",
		`{"seats": null}`:               "seats: expected an object, found null",
		`{"pools": null}`:               "pools: expected a list, found null",
		`{"pools": [{}, null]}`:         "pools[1]: expected an object, found null",
		`{"own": {"name": null}}`:       "own.name: expected a string, found null",
		`{"seats": {"matlab": null}}`:   "seats.matlab: expected a whole number from 0 to 18446744073709551615, found null",
	}
	for text, expected := range table {
		own := defaults()
		if err := Decode(&own, text); err == nil || err.Error() != expected {
			t.Errorf("%s: got %v, expected %s", text, err, expected)
		}
	}
	own := defaults()
	if err := Decode(&own, `{"own": null, "any": null, "most": null}`); err != nil || own.Own != nil || own.Any != nil {
		t.Error(own, err)
	}
}
