package plimsoll

import (
	"math"
	"strings"
	"testing"
)

// The table of plugin-sdk/quantity, the parser of the gateway.
func TestQuantitiesAreReadAsKubernetesReadsThem(t *testing.T) {
	for _, row := range []struct {
		text     string
		perUnit  uint64
		expected int64
	}{
		{"0", 1, 0},
		{"100m", 1000, 100},
		{"2", 1000, 2000},
		{"0.5", 1000, 500},
		{"1.5Gi", 1, 1_610_612_736},
		{"64Mi", 1, 67_108_864},
		{"1k", 1, 1000},
		{"2e3", 1, 2000},
		{"2E3", 1, 2000},
		{"1E", 1, 1_000_000_000_000_000_000},
		{"1e-3", 1000, 1},
		{"1m", 1, 1},
		{"1n", 1000, 1},
		{"100u", 1000, 1},
		{".5", 1000, 500},
		{"5.", 1, 5},
		{"+3", 1, 3},
		{"-3", 1, -3},
		{"7Ei", 1, 7 << 60},
		{"7Ei", 1000, math.MaxInt64},
		{"16Ei", 1, math.MaxInt64},
		{"9223372036854775807", 1, math.MaxInt64},
		{"9223372036854775806", 1, math.MaxInt64 - 1},
		{"99999999999999999999999999999999999999999999", 1, math.MaxInt64},
		{"0.00000000000000000000000000000000000000000001", 1, 1},
		{"1.0000000000000000001", 1, 2},
		{"0.00000000000000000012e30", 1, 120_000_000_000},
		{"99999999999999999999999999999999999999999999e-40", 1, 10_000},
		{"0e2147483647", 1, 0},
		{"1e2147483647", 1, math.MaxInt64},
		{"1e-2147483648", 1, 1},
		{"0.0", 1000, 0},
		{strings.Repeat("0", 48) + "1", 1, 1},
	} {
		if value, ok := parseQuantity(row.text, row.perUnit); !ok || value != row.expected {
			t.Errorf("%s: got %d, %v; expected %d", row.text, value, ok, row.expected)
		}
	}
	for _, text := range []string{"", "Gi", "1Q", "1.2.3", "1 Gi", "--1", "1e", "1e3.5", "0x10", "é", ".", "1é", "1nu", "1ni"} {
		if value, ok := parseQuantity(text, 1); ok {
			t.Errorf("%q: got %d", text, value)
		}
	}
}
