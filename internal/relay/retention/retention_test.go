package retention_test

import (
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"engramd/internal/relay/retention"
)

const day = 24 * time.Hour

func TestParse(t *testing.T) {
	type kinds = []retention.Range
	for _, c := range []struct {
		text string
		want retention.Rule
	}{
		{"1 90d", retention.Rule{Kinds: kinds{{1, 1}}, Age: 90 * day}},
		{"7,1 1y", retention.Rule{Kinds: kinds{{1, 1}, {7, 7}}, Age: 365 * day}},
		{"30023 365d max 10000", retention.Rule{Kinds: kinds{{30023, 30023}}, Age: 365 * day, Count: 10000}},
		{" 1000-1999  max   5 ", retention.Rule{Kinds: kinds{{1000, 1999}}, Count: 5}},
		{"1-3,2-8,9,6 2w", retention.Rule{Kinds: kinds{{1, 4}, {6, 9}}, Age: 14 * day}},
		{"1 12h", retention.Rule{Kinds: kinds{{1, 1}}, Age: 12 * time.Hour}},
		// A range names nothing that must be named, and a number does.
		{"0-99 1d", retention.Rule{Kinds: kinds{{0, 4}, {6, 61}, {63, 99}}, Age: day}},
		{"0-99,5 1d", retention.Rule{Kinds: kinds{{0, 61}, {63, 99}}, Age: day}},
		{"30000-39999 1d", retention.Rule{Kinds: kinds{{30000, 30089}, {30092, 30173}, {30175, 39999}}, Age: day}},
		{"30090 1d", retention.Rule{Kinds: kinds{{30090, 30090}}, Age: day}},
		{"* 1d", retention.Rule{Kinds: kinds{{0, 4}, {6, 61}, {63, 19999}, {30000, 30089}, {30092, 30173}, {30175, 65535}}, Age: day}},
	} {
		got, err := retention.Parse([]string{c.text})
		if err != nil || len(got) != 1 || !reflect.DeepEqual(got[0], c.want) {
			t.Errorf("%q: %+v, %v; want %+v", c.text, got, err, c.want)
		}
	}
	// What is never stored needs no rule.
	if got, err := retention.Parse([]string{"20000-29999 1h", "20001 1h"}); err != nil || len(got) != 0 {
		t.Errorf("ephemeral kinds: %v, %v", got, err)
	}
}

func TestParseRefuses(t *testing.T) {
	for text, want := range map[string]string{
		"": "want KINDS AGE", "1": "want KINDS AGE", "90d": "want KINDS AGE", "1 90": `"90" is no age`, "1 90 d": `"90" is no age`, "1 d": "is no age",
		"1 90D": "is no age", "1 -90d": "is no age", "1 0d": "from 1h to 100y", "1 101y": "from 1h to 100y", "1 9999999y": "from 1h to 100y", "1 1m": "is no age",
		"1 max": "want KINDS AGE", "1 max 0": "from 1 on", "1 max -1": "from 1 on", "1 max 1e3": "from 1 on", "1 max 01": "from 1 on",
		"1 max 99999999999999999999": "from 1 on", "1 90d 5": "want KINDS AGE", "1 90d max 5 x": "want KINDS AGE", "1 max 5 90d": "want KINDS AGE", "1 MAX 5": "is no age",
		"x 90d": `"x" is neither a kind`, "1, 90d": `"" is neither a kind`, "1,,2 90d": "is neither a kind", "65536 90d": "is neither a kind",
		"-1 90d": "is neither a kind", "9-1 90d": "is neither a kind", "1-2-3 90d": "is neither a kind", "01 90d": "is neither a kind", "+1 90d": "is neither a kind",
	} {
		_, err := retention.Parse([]string{"1 90d", text})
		if err == nil || !strings.Contains(err.Error(), want) || !strings.HasPrefix(err.Error(), fmt.Sprintf("%q: ", text)) {
			t.Errorf("%q: %v, want %s", text, err, want)
		}
	}
	if _, err := retention.Parse(make([]string, 101)); err == nil {
		t.Error("101 rules are taken")
	}
}

func TestCovers(t *testing.T) {
	rules, err := retention.Parse([]string{"*,30174 1d"})
	if err != nil {
		t.Fatal(err)
	}
	for kind := range retention.MaxKind + 1 {
		want := (!retention.MustBeNamed(kind) || kind == 30174) && (kind < 20000 || kind > 29999)
		if rules[0].Covers(kind) != want {
			t.Fatalf("kind %d: %v", kind, !want)
		}
	}
}
