package main

import "testing"

// TestScriptsOfThePage: packages are named as npm and package URLs have them.
func TestScriptsOfThePage(t *testing.T) {
	r := &release{page: []byte("About.\n\n== @noble/curves 2.0.1 (MIT)\n\nCopyright\n== not a package\n\n== nostr-tools 2.25.2 (Unlicense)\n\nFree\n")}
	want := []string{"@noble/curves 2.0.1 pkg:npm/%40noble/curves@2.0.1", "nostr-tools 2.25.2 pkg:npm/nostr-tools@2.25.2"}
	got := r.scripts()
	if len(got) != len(want) {
		t.Fatalf("%+v", got)
	}
	for i, c := range got {
		if s := c.Name + " " + c.Version + " " + c.PURL; s != want[i] {
			t.Errorf("%q, want %q", s, want[i])
		}
	}
}
