package metabolism

import (
	"bytes"
	"strings"
	"testing"

	"engramd/internal/memory/activity"
	"engramd/internal/snapshot/bundle"
)

// TestColdLines: a file in clear text contains no secrets, an encrypted one is
// complete, and nothing is called archived that is not.
func TestColdLines(t *testing.T) {
	const token = "ghp_0123456789abcdefghijABCDEFGHIJ012345"
	all := []candidate{{Active: activity.Active{Unit: activity.Unit{Slug: "mem/a"}}, text: "The token is " + token + "."}}
	some, err := bundle.ParseRecipients([]string{"age1cy0su9fwf3gf9mw868g5yut09p6nytfmmnktexz2ya5uqg9vl9sss4euqm"})
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		f           options
		whole, says bool
	}{
		"clear":     {options{}, false, false},
		"committed": {options{commit: true}, false, true},
		"encrypted": {options{recipients: some}, true, false},
	} {
		var out bytes.Buffer
		if err := c.f.coldLines(&out, all); err != nil {
			t.Fatal(err)
		}
		if line := out.String(); strings.Contains(line, token) != c.whole || strings.Contains(line, `"redacted":1`) == c.whole || strings.Contains(line, "archived_at") != c.says {
			t.Errorf("%s: %s", name, line)
		}
	}
}
