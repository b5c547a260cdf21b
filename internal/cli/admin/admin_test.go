package admin

import (
	"encoding/json"
	"testing"

	"engramd/internal/cli/settings"
)

// TestManagedText: any JSON is shown, and nothing in it steers a terminal.
func TestManagedText(t *testing.T) {
	const key = "3bf0c63fcb93463407af97a5e5ee64fa883d107ef9e558472c4eb9aaaefa459d"
	for result, want := range map[string]string{
		`true`: "done\n", `false`: "false\n", `null`: "-\n", `[]`: "", `{}`: "", `"x\u001b[2Jy"`: "x⟨U+001B⟩[2Jy\n", `[1,2]`: "1\n2\n",
		`[{"pubkey":"` + key + `","reason":"a\nb"}]`:                                                             settings.Npub(key) + "  a b\n",
		`{"id":"x","n":12345678901234567890,"of":{"a":1,"b":[1,2]},"list":[{"a":1,"b":2,"c":3,"d":4},{"a":[]}]}`: "id: x\nn: 12345678901234567890\nof:\n  a: 1\n  b:\n    1\n    2\nlist:\n  - a: 1\n    b: 2\n    c: 3\n    d: 4\n  - a:\n",
	} {
		if got, err := managedText(json.RawMessage(result)); err != nil || got != want {
			t.Errorf("%s: %q, %v; want %q", result, got, err, want)
		}
	}
	deep := make([]byte, 2000)
	for i := range deep {
		deep[i] = '['
	}
	if _, err := managedText(deep); err == nil {
		t.Error("any depth is taken")
	}
}
