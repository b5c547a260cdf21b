package activity

import (
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"
)

func TestUsage(t *testing.T) {
	uses := map[string]Use{"mem/a": {3, now}, "mem/b": {9, now.Add(-day)}, "mem/none": {}}
	text := EncodeUsage(uses)
	if want := fmt.Sprintf("engramd usage 1\n9 %d mem/b\n3 %d mem/a\n", now.Add(-day).Unix(), now.Unix()); text != want {
		t.Errorf("%q", text)
	}
	delete(uses, "mem/none")
	if got := DecodeUsage(text, now); !reflect.DeepEqual(got, uses) {
		t.Errorf("%v", got)
	}
	sum := DecodeUsage(text, now)
	AddUses(sum, map[string]Use{"mem/a": {2, now.Add(-day)}, "mem/c": {1, now}})
	if sum["mem/a"] != (Use{5, now}) || sum["mem/c"].N != 1 {
		t.Errorf("%v", sum)
	}
	if got := Most(Use{3, now}, Use{5, now.Add(-day)}); got != (Use{5, now}) {
		t.Errorf("%v", got)
	}
}

// The most used stay, and the text has an end.
func TestUsageIsBounded(t *testing.T) {
	uses := map[string]Use{}
	for i := range 2000 {
		uses[fmt.Sprintf("mem/%d/%s", i, strings.Repeat("x", 1+i%200))] = Use{int64(i + 1), now}
	}
	text := EncodeUsage(uses)
	if n := strings.Count(text, "\n") - 1; n > maxUsed || n < 100 || len(text) > MaxUsage || !strings.Contains(text, "\n2000 ") {
		t.Errorf("%d lines, %d bytes", n, len(text))
	}
	many := map[string]Use{}
	for i := range 2000 {
		many[fmt.Sprintf("mem/%d", i)] = Use{1, now}
	}
	if got := DecodeUsage(EncodeUsage(many), now); len(got) != maxUsed {
		t.Errorf("%d", len(got))
	}
}

func TestHostileUsage(t *testing.T) {
	for _, text := range []string{"", "x", "engramd usage 2\n1 1 mem/a\n", usageHead + "\n1 mem/a\n-1 1 mem/a\n1 -1 mem/a\n99999999999999999999 1 mem/a\n1 1 not a slug\n1 1 ../x\n",
		usageHead + "\n1 1 mem/a\n" + strings.Repeat("x", MaxUsage)} {
		if got := DecodeUsage(text, now); len(got) != 0 {
			t.Errorf("%.40q: %v", text, got)
		}
	}
	got := DecodeUsage(usageHead+"\n9223372036854775807 9223372036854775807 mem/a\n", now)
	if got["mem/a"] != (Use{mostUses, now}) {
		t.Errorf("%v", got)
	}
}

func FuzzDecodeUsage(f *testing.F) {
	f.Add(usageHead + "\n3 1700000000 mem/a\n")
	f.Fuzz(func(t *testing.T, text string) {
		for slug, u := range DecodeUsage(text, now) {
			if slug == "" || u.N <= 0 || u.N > mostUses || u.Last.After(now) || u.Last.Before(time.Unix(0, 0)) {
				t.Errorf("%q: %v", slug, u)
			}
		}
	})
}

func TestBudget(t *testing.T) {
	for _, tt := range []struct{ own, earned, want int }{{0, 0, 2_000_000}, {0, 1, 2_050_000}, {0, 10, 2_500_000}, {0, 9999, 2_500_000}, {1000, 2, 101_000}, {-5, -5, 2_000_000}} {
		if got := Budget(tt.own, tt.earned); got != tt.want {
			t.Errorf("%+v: %d", tt, got)
		}
	}
}
