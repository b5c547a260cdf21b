package writerlog

import (
	"fmt"
	"testing"
)

// TestTaken: what a relay took from this machine and promised to keep is missed, all
// that it shows may be gone, and whatever others promise or show; what only others
// took is not asked of it.
func TestTaken(t *testing.T) {
	promise := Promise{Made: true, Versions: 100, Days: 365}
	own := map[string][]Own{"0a1b2c3d": {{ID: someID, At: 1_700_000_000, Stored: true, Took: []string{"A", "gone"}}}}
	a, b := Shown{URL: "A", Whole: true, History: true, Promise: promise}, Shown{URL: "B", Whole: true, History: true}
	with := func(s Shown, change func(*Shown)) Shown { change(&s); return s }
	for name, c := range map[string]struct {
		relays []Shown
		want   Kind
	}{
		"it shows nothing at all":            {[]Shown{a}, Missing},
		"another promises nothing":           {[]Shown{b, a}, Missing},
		"another is silent":                  {[]Shown{a, {URL: "B"}}, Missing},
		"it promised less":                   {[]Shown{with(a, func(s *Shown) { s.Promise.Days = 1 }), with(b, func(s *Shown) { s.Promise = promise })}, Dropped},
		"it promises nothing":                {[]Shown{with(a, func(s *Shown) { s.Promise = Promise{} })}, Dropped},
		"it is silent":                       {[]Shown{{URL: "A"}, b}, Unsure},
		"its history is":                     {[]Shown{with(a, func(s *Shown) { s.History = false })}, Unsure},
		"it is asked no more":                {[]Shown{with(a, func(s *Shown) { s.URL = "B" })}, Unsure},
		"asked no more, and others took all": {[]Shown{with(a, func(s *Shown) { s.URL = "B" }), with(a, func(s *Shown) { s.URL = "C" })}, Unsure},
	} {
		report := Judge(Evidence{Relays: c.relays, Own: own, Now: 1_700_000_000 + 100*day})
		if len(report.Findings) != 1 || report.Findings[0].Kind != c.want {
			t.Errorf("%s: %+v, want %s", name, report.Findings, c.want)
		}
	}
}

// TestFull: a relay that has at one address all the versions that it keeps may have
// dropped others there, and not what this machine wrote at another.
func TestFull(t *testing.T) {
	for d, want := range map[string]Kind{"a": Dropped, "b": Missing, "": Dropped} {
		for _, took := range [][]string{{"A"}, nil} {
			in := Evidence{Events: map[string]Event{}, Now: 1_700_001_000, Own: map[string][]Own{"0a1b2c3d": {{ID: someID, D: d, At: 1_700_000_010, Stored: true, Took: took}}}}
			r := Shown{URL: "A", Whole: true, History: true, Promise: Promise{Made: true, Versions: 2}}
			for i, at := range []int64{1_600_000_000, 1_700_000_020, 1_700_000_030} {
				e := Event{ID: fmt.Sprint("a", i), D: "a", At: at}
				if in.Events[e.ID] = e; i == 0 {
					e.D = "c"
					in.Events[e.ID], r.Heads = e, []string{e.ID}
				} else {
					r.Past = append(r.Past, e.ID)
				}
			}
			in.Relays = []Shown{r}
			if report := Judge(in); len(report.Findings) != 1 || report.Findings[0].Kind != want {
				t.Errorf("at %q, taken by %v: %+v, want %s", d, took, report.Findings, want)
			}
		}
	}
}

// TestSilent: where it is not known which relay took a number, one that is silent
// may have it, whatever others do not promise, and the log is not complete.
func TestSilent(t *testing.T) {
	own := map[string][]Own{"0a1b2c3d": {{ID: someID, At: 1_700_000_000, Stored: true}}}
	bare := Shown{URL: "A", Whole: true, History: true}
	for _, relays := range [][]Shown{{bare, {URL: "B"}}, {{URL: "B"}, bare}, {bare, {URL: "B", Whole: true}}} {
		report := Judge(Evidence{Relays: relays, Own: own, Now: 1_700_000_100})
		if report.Counts[Unsure] != 1 || report.Logs[0].Complete() {
			t.Errorf("%+v: %+v", relays, report)
		}
	}
	if report := Judge(Evidence{Relays: []Shown{bare}, Own: own, Now: 1_700_000_100}); report.Counts[Dropped] != 1 {
		t.Errorf("%+v", report)
	}
}
