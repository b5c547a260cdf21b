package recall

import (
	"slices"
	"testing"
)

// TestDifferingIsSeen: a differing word holds nothing that a person does not see, and is
// left out if nothing else is in it.
func TestDifferingIsSeen(t *testing.T) {
	got := differing(map[string]bool{"sa\U000e0041il": true, "\ufe0f": true, "\U000e0101": true}, map[string]bool{"r\u3164ow": true, "oar": true})
	if want := []string{"sail", "oar", "row"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	x := indexOf(t, memory("mem/a", "Ana paints the boats of the harbour green in may"))
	if _, differs := x.Compare("Ana paints the boats of the harbour green in may", "Ana paints the boats of the harbour green in ma\ufe0fy \u3164 \U000e0101"); slices.ContainsFunc(differs, func(w string) bool { return w == "" || w == "\u3164" }) {
		t.Errorf("%q", differs)
	}
}
