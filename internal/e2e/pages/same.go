package pages

import (
	"regexp"
	"strings"
)

// varying are the parts of an output that are others each time: keys (in hex,
// alone on a line), times, cut ids, and the project of ada's home. Hashes of texts stay.
var varying = []struct {
	find *regexp.Regexp
	name string
}{
	{regexp.MustCompile(`npub1[02-9ac-hj-np-z]{58}`), "NPUB"},
	{regexp.MustCompile(`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ`), "TIME"},
	{regexp.MustCompile(`\b[0-9a-f]{16}\b`), "ID"},
	{regexp.MustCompile(`(?m)^[0-9a-f]{64}$`), "PUBKEY"},
	{regexp.MustCompile(`mem/projects/ada-[0-9a-f]{8}\b`), "FOLDER"},
}

func masked(text string) string {
	for _, v := range varying {
		text = v.find.ReplaceAllString(text, v.name)
	}
	return text
}

// Same reports whether an output is what a page shows, apart from what is
// another each time. An "…" in the page stands for anything within a line.
func Same(shown, got string) bool {
	want := strings.Split(masked(shown), "\n")
	have := strings.Split(masked(got), "\n")
	if len(want) != len(have) {
		return false
	}
	for i, line := range want {
		pattern := "^" + strings.ReplaceAll(regexp.QuoteMeta(line), "…", ".*") + "$"
		if line != have[i] && !regexp.MustCompile(pattern).MatchString(have[i]) {
			return false
		}
	}
	return true
}
