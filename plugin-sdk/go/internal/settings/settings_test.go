package settings

import "testing"

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
	const number = "expected a whole number that is not negative, found "
	table := map[string]string{
		`{"name": "a", "seats": {"ansys": 4, "matlab": -1}}`: "seats.matlab: " + number + "number -1",
		`{"seats": {"matlab": "x", "ansys": 4}}`:             "seats.matlab: " + number + "a string",
		`{"seats": {"matlab": {"a": 1}, "ansys": 4}}`:        "seats.matlab: " + number + "an object",
		`{"seats": {"matlab": [1], "ansys": 4}}`:             "seats.matlab: " + number + "a list",
		`{"seats": {"matlab": true, "ansys": 4}}`:            "seats.matlab: " + number + "true or false",
		`{"pools": {"lab": {"ansys": 1, "matlab": -1}}}`:     "pools.lab.matlab: " + number + "number -1",
		`{"in": {"by": {"a": true, "b": 1}}}`:                "in.by.b: expected true or false, found a number",
		`{"seats": [], "name": "a"}`:                         "seats: expected an object, found a list",
		`{"zones": [1, -1, 2]}`:                              "zones: " + number + "number -1",
		`[1]`:                                                "the settings: expected an object, found a list",
	}
	for text, expected := range table {
		if err := Decode(&limits{}, text); err == nil || err.Error() != expected {
			t.Errorf("%s: got %v, expected %s", text, err, expected)
		}
	}
}
