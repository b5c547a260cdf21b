package frontmatter

import (
	"slices"
	"strings"
	"testing"
	"time"
)

func TestTrustIsOrdered(t *testing.T) {
	if !(External < Derived && Derived < Observed && Observed < Told) || Told.Lower(Derived) != Derived || External.Lower(Told) != External {
		t.Error("the order is wrong")
	}
	for _, w := range trusts {
		if got, ok := ParseTrust(w); !ok || got.String() != w {
			t.Errorf("%s is read as %s", w, got)
		}
	}
	if got, ok := ParseTrust("Told"); ok || got != External {
		t.Error("Told is a word of trust")
	}
}

// What a text that is written byte for byte claims beyond its head.
func TestClaims(t *testing.T) {
	const stamped = "---\nsession: s1\ncreated: 2026-11-22T06:02:44Z\nsource: \"claude-code:1\"\ntrust: derived\nconsolidated: 2026-11-23\n---\nold"
	for _, tt := range []struct {
		name, text, head string // head "-": none
		want             string
	}{
		{"plain text, no head", "x", "-", ""},
		{"plain text over plain text", "x", "y", ""},
		{"observed, no head", "---\ntrust: observed\n---\nx", "-", ""},
		{"told, no head", "---\ntrust: told\n---\nx", "-", "trust"},
		{"told over plain text", "---\ntrust: told\n---\nx", "y", "trust"},
		{"external, no head", "---\ntrust: external\n---\nx", "-", ""},
		{"all of them, no head", stamped, "-", "created source session consolidated"},
		{"as the head has them", stamped, stamped, ""},
		{"as the head has them, in other quotes", strings.Replace(stamped, `"claude-code:1"`, "claude-code:1", 1), stamped, ""},
		{"another created", strings.Replace(stamped, "T06:02:44Z", "T06:02:45Z", 1), stamped, "created"},
		{"another source", strings.Replace(stamped, "claude-code:1", "owner:npub1", 1), stamped, "source"},
		{"a second source", strings.Replace(stamped, "---\nold", "source: me\n---\nold", 1), stamped, "source"},
		{"a source that is a list", strings.Replace(stamped, `"claude-code:1"`, `["claude-code:1"]`, 1), stamped, "source"},
		{"another session", strings.Replace(stamped, "s1", "s2", 1), stamped, "session"},
		{"another consolidated", strings.Replace(stamped, "11-23", "11-24", 1), stamped, "consolidated"},
		{"more trust", strings.Replace(stamped, "derived", "observed", 1), stamped, "trust"},
		{"less trust", strings.Replace(stamped, "derived", "external", 1), stamped, ""},
		{"trust left out", strings.Replace(stamped, "trust: derived\n", "", 1), stamped, "trust"},
		{"front matter left out", "x", stamped, "trust"},
		{"front matter left out over observed", "x", strings.Replace(stamped, "derived", "observed", 1), ""},
		{"an unreadable trust", strings.Replace(stamped, "derived", "DERIVED", 1), stamped, ""},
		{"over an unreadable trust", "x", "---\ntrust: TOLD\n---\n", "trust"},
		{"a claim below a repeated one", "---\ntrust: told\ntrust: external\n---\n", "---\ntrust: external\n---\n", ""},
		{"told as told before", "---\ntrust: told\n---\nx", "---\ntrust: told\n---\ny", ""},
		{"claims in the body are text", "trust: told\nsource: me", "-", ""},
	} {
		var head *Doc
		if tt.head != "-" {
			d := Parse(tt.head)
			head = &d
		}
		if got := strings.Join(Claims(Parse(tt.text), head), " "); got != tt.want {
			t.Errorf("%s: claims %q, not %q", tt.name, got, tt.want)
		}
	}
}

// Every way of writing that stamps × everything that a text may claim × every
// head: what comes out never has more trust than any of them gives, and never
// the claimed time, source or session.
func TestStampedRaisesNothing(t *testing.T) {
	now := time.Date(2026, 11, 22, 6, 2, 44, 5, time.UTC)
	claims := []string{"x", "---\ntrust: told\n---\nx", "---\ntrust: external\n---\nx", "---\ntrust: sure\n---\nx", "---\ntrust: external\ntrust: told\n---\nx",
		"---\ncreated: 1999-01-01\nsource: owner:npub1\nsession: other\nconsolidated: 1999-01-01\ntrust: told\nmine: kept\n---\nx"}
	heads := []string{"-", "y", "---\ntrust: told\n---\ny", "---\ntrust: derived\ncreated: 2026-01-01\nsource: s\nconsolidated: 2026-02-02\n---\ny", "---\ntrust: external\n---\ny"}
	for _, text := range claims {
		for _, h := range heads {
			var head *Doc
			most := Observed // without a head
			if h != "-" {
				d := Parse(h)
				head, most = &d, d.Trust()
			}
			for _, way := range []Trust{External, Derived, Observed} {
				d := Parse(text)
				got, err := Stamped(d, head, Stamp{Now: now, Source: "tool:1", Session: "s9", Most: way})
				if err != nil {
					t.Fatal(err)
				}
				f := Parse(got).Fields()
				if f.Trust > most || f.Trust > way || f.Trust > d.Trust() || f.Source != "tool:1" || f.Session != "s9" || Parse(got).Body() != "x" {
					t.Errorf("%q over %q by %s is %q", text, h, way, got)
				}
				wantCreated, wantConsolidated := "2026-11-22T06:02:44Z", ""
				if head != nil && !head.Fields().Created.IsZero() {
					wantCreated, wantConsolidated = "2026-01-01", "2026-02-02"
				}
				if f.Created.String() != wantCreated || f.Consolidated.String() != wantConsolidated || strings.Contains(text, "mine") != strings.Contains(got, "mine: kept\n") {
					t.Errorf("%q over %q by %s is %q", text, h, way, got)
				}
				if more := Claims(Parse(got), head); slices.Contains(more, "trust") {
					t.Errorf("%q over %q by %s claims %v", text, h, way, more)
				}
			}
			// Only an accepted proposal of the owner sets trust anew.
			if got, err := Stamped(Parse(text), head, Stamp{Now: now, Source: "owner:npub1", Most: Told, Reset: true}); err != nil || Parse(got).Trust() != Told {
				t.Errorf("told: %q, %v", got, err)
			}
		}
	}
}

// What had been read before is stamped beside what the head says of that, the last ones; a
// text cannot choose it.
func TestStampedAfterReading(t *testing.T) {
	head := Parse("---\nafter_reading: [mem/a, mem/b]\n---\ny")
	for name, tc := range map[string]struct {
		head  *Doc
		read  []string
		reset bool
		want  string
	}{
		"nothing":              {nil, nil, false, ""},
		"something":            {nil, []string{"mem/c"}, false, "mem/c"},
		"before":               {&head, nil, false, "mem/a mem/b"},
		"both":                 {&head, []string{"mem/c", "mem/a"}, false, "mem/b mem/c mem/a"},
		"many":                 {&head, []string{"1", "2", "3", "4"}, false, "mem/b 1 2 3 4"},
		"the owner's proposal": {&head, nil, true, ""},
		"a long one":           {nil, []string{strings.Repeat("ü", 3000)}, false, strings.Repeat("ü", 255)},
	} {
		got, err := Stamped(Parse("---\nafter_reading: [mem/x]\n---\nx"), tc.head, Stamp{Now: time.Unix(1790000000, 0), AfterReading: tc.read, Most: Observed, Reset: tc.reset})
		if all := strings.Join(Parse(got).Fields().AfterReading, " "); err != nil || all != tc.want {
			t.Errorf("%s: %q, %v", name, all, err)
		}
	}
	if got := Claims(Parse("---\nafter_reading: [mem/x]\n---\nx"), nil); !slices.Equal(got, []string{"after_reading"}) {
		t.Errorf("%v", got)
	}
}

// Stamping what is stamped already changes no byte.
func TestStampedTwice(t *testing.T) {
	s := Stamp{Now: time.Unix(1790000000, 0), Source: "tool:1", Session: "s9", Most: Observed}
	once, err := Stamped(Parse("x"), nil, s)
	if err != nil {
		t.Fatal(err)
	}
	head := Parse(once)
	s.Now = s.Now.Add(time.Hour)
	if twice, err := Stamped(Parse(once), &head, s); err != nil || twice != once {
		t.Errorf("%q became %q, %v", once, twice, err)
	}
}
