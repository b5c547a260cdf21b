package frontmatter

import (
	"testing"
	"time"
)

// TestDated: what a text says of its expiry is what is stamped, or a claim.
func TestDated(t *testing.T) {
	at := At(time.Unix(1_700_000_000, 0))
	was := At(time.Unix(1_600_000_000, 0))
	stamp := "expires: " + at.String() + "\n"
	for name, c := range map[string]struct {
		text    string
		at, was Moment
		want    string
	}{
		"nothing":          {"body", Moment{}, Moment{}, "body"},
		"stamped":          {"body", at, Moment{}, "---\n" + stamp + "---\nbody"},
		"kept":             {"---\n" + stamp + "---\nbody", at, at, "---\n" + stamp + "---\nbody"},
		"moved":            {"---\nexpires: " + was.String() + "\n---\nbody", at, was, "---\n" + stamp + "---\nbody"},
		"taken away":       {"---\nexpires: " + was.String() + "\n---\nbody", Moment{}, was, "body"},
		"a claim":          {"---\nexpires: never\nx: 1\n---\nbody", Moment{}, Moment{}, "---\nx: 1\nexpires_claimed: never\n---\nbody"},
		"a claim beside":   {"---\nexpires: [a, b]\n---\nbody", at, Moment{}, "---\n" + stamp + "expires_claimed: [a, b]\n---\nbody"},
		"a claim of a day": {"---\nexpires: 2020-01-01\n---\nbody", Moment{}, at, "---\nexpires_claimed: 2020-01-01\n---\nbody"},
		"twice":            {"---\n" + stamp + "expires: never\n---\nbody", at, at, "---\n" + stamp + "expires_claimed: never\n---\nbody"},
		"in the body":      {"body\nexpires: never", Moment{}, Moment{}, "body\nexpires: never"},
	} {
		if got, err := Dated(Parse(c.text), c.at, c.was); err != nil || got != c.want {
			t.Errorf("%s: %q, want %q: %v", name, got, c.want, err)
		}
	}
}
