package plimsoll

import (
	"encoding/json"
	"fmt"
	"math"
	"math/bits"
	"reflect"
	"strconv"
	"strings"
)

// Quantity is an amount in a policy's settings, written as in Kubernetes: `512Mi`, `500m`, `"3"` or the bare number 64.
//
// Amounts of cpu on pods and nodes are in millicores: compare them with [Quantity.Millis]. All other amounts are in base
// units: compare them with [Quantity.Value].
type Quantity struct {
	value, millis int64
}

// ParseQuantity reads a quantity as the host does. A fraction of the unit is rounded up, and a number above the largest
// int64 is cut to it, as Kubernetes does.
func ParseQuantity(text string) (Quantity, error) {
	value, ok := parseQuantity(text, 1)
	if !ok {
		return Quantity{}, fmt.Errorf("%q is no quantity", text)
	}
	millis, _ := parseQuantity(text, 1000)
	return Quantity{value, millis}, nil
}

// MustQuantity is [ParseQuantity] for texts in the code, such as the default of a setting: it panics if the text is no
// quantity.
func MustQuantity(text string) Quantity {
	quantity, err := ParseQuantity(text)
	if err != nil {
		panic(err)
	}
	return quantity
}

// Value is the amount in base units.
func (q Quantity) Value() int64 {
	return q.value
}

// Millis is the amount in thousandths.
func (q Quantity) Millis() int64 {
	return q.millis
}

// UnmarshalJSON reads a text or a number.
func (q *Quantity) UnmarshalJSON(from []byte) error {
	text := string(from)
	if text == "null" {
		return nil
	}
	if strings.HasPrefix(text, `"`) {
		if err := json.Unmarshal(from, &text); err != nil {
			return err
		}
	}
	quantity, err := ParseQuantity(text)
	if err != nil {
		// Of an error of this type encoding/json says which field it is about.
		return &json.UnmarshalTypeError{Value: string(from), Type: reflect.TypeFor[Quantity]()}
	}
	*q = quantity
	return nil
}

// Expected is for messages about settings.
func (Quantity) Expected() string {
	return "a quantity such as 512Mi"
}

// parseQuantity reads a quantity as a whole number of 1/perUnit units.
// Source: `Quantity.ScaledValue` in k8s.io/apimachinery/pkg/api/resource.
func parseQuantity(text string, perUnit uint64) (int64, bool) {
	unsigned, isNegative := strings.CutPrefix(text, "-")
	if !isNegative {
		unsigned = strings.TrimPrefix(text, "+")
	}
	end := strings.IndexFunc(unsigned, func(c rune) bool { return (c < '0' || c > '9') && c != '.' })
	if end < 0 {
		end = len(unsigned)
	}
	whole, fraction, _ := strings.Cut(unsigned[:end], ".")
	if whole == "" && fraction == "" || strings.Contains(fraction, ".") {
		return 0, false
	}
	binary, exponent, ok := scale(unsigned[end:])
	if !ok {
		return 0, false
	}
	number := decimal{digits: whole + fraction, point: len(whole) + exponent}
	value := number.times(wide{0, binary}.times(perUnit))
	if isNegative {
		value = -value
	}
	return value, true
}

// scale is what a suffix multiplies by: a power of two and a power of ten.
func scale(suffix string) (binary uint64, exponent int, ok bool) {
	if suffix == "" {
		return 1, 0, true
	}
	if at := strings.Index("numkMGTPE", suffix); at >= 0 && len(suffix) == 1 {
		return 1, [...]int{-9, -6, -3, 3, 6, 9, 12, 15, 18}[at], true
	}
	if at := strings.Index("KMGTPE", suffix[:1]); at >= 0 && suffix[1:] == "i" {
		return 1 << (10 * (at + 1)), 0, true
	}
	if suffix[0] != 'e' && suffix[0] != 'E' {
		return 0, 0, false
	}
	power, err := strconv.ParseInt(suffix[1:], 10, 32)
	return 1, int(power), err == nil
}

// decimal is the digits of a number, and before which of them its point is: below 0 or past the last one, zeros lie
// between.
type decimal struct {
	digits string
	point  int
}

// times is the number times a unit, rounded up, and cut to the largest int64.
func (d decimal) times(unit wide) int64 {
	var above uint64
	for at := 0; at < d.point; at++ {
		// Zeros after zero change nothing, however many the exponent asks for.
		if above == 0 && at >= len(d.digits) {
			break
		}
		above = above*10 + d.digit(at)
		if above > math.MaxInt64/10 && at+1 < d.point || above > math.MaxInt64 {
			return math.MaxInt64
		}
	}
	value := unit.times(above).plus(d.below(unit))
	if value.hi != 0 || value.lo > math.MaxInt64 || (above != 0 && unit.hi != 0) {
		return math.MaxInt64
	}
	return int64(value.lo)
}

// below is the digits after the point, times a unit, rounded up.
func (d decimal) below(unit wide) wide {
	var sum wide
	hasMore := false
	// From the last digit to the first: each step keeps the whole part, and notes whether there was a remainder.
	for at := len(d.digits) - 1; at >= max(d.point, 0); at-- {
		var rest uint64
		sum, rest = sum.plus(unit.times(d.digit(at))).dividedByTen()
		hasMore = hasMore || rest != 0
	}
	for range -d.point {
		if sum == (wide{}) {
			break
		}
		var rest uint64
		sum, rest = sum.dividedByTen()
		hasMore = hasMore || rest != 0
	}
	if hasMore {
		sum = sum.plus(wide{0, 1})
	}
	return sum
}

func (d decimal) digit(at int) uint64 {
	if at >= len(d.digits) {
		return 0
	}
	return uint64(d.digits[at] - '0')
}

// wide is a number of 128 bits: the largest unit is 1000 * 2^60.
type wide struct {
	hi, lo uint64
}

func (w wide) times(factor uint64) wide {
	hi, lo := bits.Mul64(w.lo, factor)
	return wide{hi + w.hi*factor, lo}
}

func (w wide) plus(other wide) wide {
	lo, carry := bits.Add64(w.lo, other.lo, 0)
	return wide{w.hi + other.hi + carry, lo}
}

func (w wide) dividedByTen() (wide, uint64) {
	lo, rest := bits.Div64(w.hi%10, w.lo, 10)
	return wide{w.hi / 10, lo}, rest
}
