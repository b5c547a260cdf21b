package recall

import (
	"testing"
	"time"
)

func at(s string) time.Time {
	t, err := time.Parse(time.DateOnly, s)
	if err != nil {
		panic(err)
	}
	return t
}

func TestDatesOfAQuery(t *testing.T) {
	now := at("2026-11-25").Add(15 * time.Hour) // a Wednesday
	for _, tt := range []struct {
		query, when string
		want        float64
	}{
		{"What happened in May 2023?", "2023-05-31", 1},
		{"What happened in May 2023?", "2023-06-10", 0.4},
		{"What happened in May 2023?", "2023-06-11", 0},
		{"What happened in May 2023?", "2022-05-03", 0},
		{"What happened in may?", "2023-06-30", 0}, // the verb
		{"in June", "2022-06-03", 1},
		{"on 3 June 2023", "2023-06-02", 0.9},
		{"on June 3rd, 2023", "2023-06-06", 0.9},
		{"on 2023-06-03", "2023-06-17", 0.6},
		{"on 3 June 2023", "2023-06-18", 0},
		{"on 3 June 2023", "2023-06-01", 0},
		{"during 2022", "2022-12-31", 0.5},
		{"during 2022", "2023-01-01", 0},
		{"in January", "2026-02-05", 0.4},
		{"yesterday", "2026-11-24", 1},
		{"today", "2026-11-24", 0},
		{"last week", "2026-11-16", 1},
		{"last week", "2026-11-23", 0},
		{"this month", "2026-11-01", 1},
		{"last month", "2026-10-31", 1},
		{"last year", "2025-01-01", 1},
		{"two weeks ago", "2026-11-11", 1},
		{"the past 3 days", "2026-11-22", 1},
		{"the past 3 days", "2026-11-21", 0},
		{"5000 days ago or 3 of them", "2026-11-22", 0},
		{"last", "2026-11-22", 0},
		{"99 March 12345", "2026-03-22", 1},
	} {
		if got := near(at(tt.when), datesIn(tt.query, now)); got != tt.want {
			t.Errorf("%q is %v near %s, not %v", tt.query, got, tt.when, tt.want)
		}
	}
	if d := datesIn("yesterday", time.Time{}); d != nil {
		t.Errorf("without a clock there is %v", d)
	}
}

func TestSince(t *testing.T) {
	now := at("2026-11-25")
	for _, tt := range []struct{ text, from, until string }{
		{"last week", "2026-11-16", "2026-11-23"},
		{"2026-11-20", "2026-11-20", "2026-11-21"},
		{"May 2025", "2025-05-01", "2025-06-01"},
		{"December", "2025-12-01", "2026-01-01"},
		{"2024", "2024-01-01", "2025-01-01"},
		{"3 days ago", "2026-11-22", "2026-11-23"},
		{"2026-11-20T00:00:00Z", "2026-11-20", "2026-11-20"},
	} {
		from, until, ok := Since(tt.text, now)
		if !ok || !from.Equal(at(tt.from)) || !until.Equal(at(tt.until)) {
			t.Errorf("%q is from %v until %v, %v", tt.text, from, until, ok)
		}
	}
	for _, text := range []string{"", "soon", "June or July"} {
		if _, _, ok := Since(text, now); ok {
			t.Errorf("%q is a time", text)
		}
	}
}

func TestTimely(t *testing.T) {
	for text, want := range map[string]bool{
		"I went there yesterday": true, "last Friday": true, "in 2019": true, "next summer": true, "a couple of weeks": true, "two years ago": true,
		"for three years": true, "since we met": true, "in September": true,
		"at last": false, "this one": false, "a few people": false, "for the team": false, "": false, "room 1234": false,
	} {
		if timely(text) != want {
			t.Errorf("%q: %v", text, !want)
		}
	}
	for text, want := range map[string]bool{"When did it end?": true, "how long was it": true, "Which year was it?": true, "What day is best?": true,
		"How did it end?": false, "what": false, "": false} {
		if asksTime(wordsOf(text)) != want {
			t.Errorf("%q asks for a time: %v", text, !want)
		}
	}
}
