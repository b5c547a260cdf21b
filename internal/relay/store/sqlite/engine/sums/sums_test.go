package sums_test

import (
	"bytes"
	"database/sql/driver"
	"slices"
	"strings"
	"testing"

	"github.com/mattn/go-sqlite3"

	"engramd/internal/relay/store/sqlite/engine/sums"
)

// summing returns a connection's engramd_sum.
func summing(t *testing.T) func(values ...driver.Value) int64 {
	t.Helper()
	c, err := (&sqlite3.SQLiteDriver{}).Open(":memory:")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	if err := sums.Register(c.(*sqlite3.SQLiteConn)); err != nil {
		t.Fatal(err)
	}
	return func(values ...driver.Value) int64 {
		rows, err := c.(driver.Queryer).Query("SELECT engramd_sum("+strings.TrimSuffix(strings.Repeat("?,", len(values)), ",")+")", values)
		if err != nil {
			t.Fatal(err)
		}
		defer rows.Close()
		out := make([]driver.Value, 1)
		if err := rows.Next(out); err != nil {
			t.Fatal(err)
		}
		return out[0].(int64)
	}
}

// Databases hold these sums: whoever changes what a sum is makes all their rows
// rotten.
func TestSumsAreForEver(t *testing.T) {
	sum := summing(t)
	long := bytes.Repeat([]byte("0123456789"), 20)
	for _, c := range []struct {
		values []driver.Value
		want   int64
	}{
		{nil, 1407527789104030892},
		{[]driver.Value{int64(1), nil, "text", []byte("blob")}, 7543146281339557761},
		{[]driver.Value{int64(-1), long, string(long[:63]), long[:64]}, -7825184012144927962},
	} {
		if got := sum(c.values...); got != c.want {
			t.Errorf("%d values: %d, want %d", len(c.values), got, c.want)
		}
	}
}

// TestEveryBitCounts flips each bit of each value.
func TestEveryBitCounts(t *testing.T) {
	sum := summing(t)
	for _, size := range []int{1, 7, 8, 9, 63, 64, 65, 200} {
		blob := bytes.Repeat([]byte{0xa5}, size)
		was := sum(int64(7), blob, "d", nil)
		for bit := range 8 * size {
			flipped := slices.Clone(blob)
			flipped[bit/8] ^= 1 << (bit % 8)
			if sum(int64(7), flipped, "d", nil) == was {
				t.Errorf("bit %d of %d bytes changes nothing", bit, size)
			}
		}
		for bit := range 64 {
			if sum(int64(7)^1<<bit, blob, "d", nil) == was {
				t.Errorf("bit %d of a number changes nothing", bit)
			}
		}
	}
}

// TestValuesDoNotRunTogether: types and lengths count, and where one value ends.
func TestValuesDoNotRunTogether(t *testing.T) {
	sum := summing(t)
	seen := map[int64]int{}
	for i, values := range [][]driver.Value{
		{}, {nil}, {nil, nil}, {""}, {[]byte{}}, {int64(0)}, {"\x00"}, {[]byte{0}}, {[]byte{0, 0}}, {"ab", "c"}, {"a", "bc"}, {"abc"}, {[]byte("abc")}, {"abc", nil}, {nil, "abc"},
		{bytes.Repeat([]byte{0}, 64)}, {bytes.Repeat([]byte{0}, 72)}, {bytes.Repeat([]byte{0}, 96)},
	} {
		s := sum(values...)
		if before, twice := seen[s]; twice {
			t.Errorf("values %d and %d have one sum", before, i)
		}
		seen[s] = i
	}
}
