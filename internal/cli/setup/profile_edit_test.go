package setup

import (
	"strings"
	"testing"

	"engramd/internal/cli/settings"
)

// TestWithProfile: adding a profile to a file leaves every other byte of it.
func TestWithProfile(t *testing.T) {
	const owner = "npub1ccz8l9zpa47k6vz9gphftsrumpw80rjt3nhnefat4symjhrsnmjs38mnyd"
	want := settings.ProfileFile{KeyFile: "a.key", Owner: owner, Relays: []string{"wss://one.example", "wss://two.example"}}
	const body = `key_file = "a.key"` + "\n" + `owner = "` + owner + `"` + "\n" + `relays = ["wss://one.example", "wss://two.example"]` + "\n"
	others := "# mine\n[profiles.me]  # the owner\nkey_file='o.key'\nagent = \"" + owner + "\"\n"
	for name, c := range map[string]struct{ text, want, wrong string }{
		"new":           {"", "profile = \"x\"\n\n[profiles.x]\n" + body, ""},
		"comments only": {"# mine", "profile = \"x\"\n# mine\n\n[profiles.x]\n" + body, ""},
		"beside others": {others, others + "\n[profiles.x]\n" + body, ""},
		"Windows":       {"# mine\r\n", strings.ReplaceAll("profile = \"x\"\n# mine\n\n[profiles.x]\n"+body, "\n", "\r\n"), ""},
		"there":         {"[profiles.x]\n" + body + "# end", "[profiles.x]\n" + body + "# end", ""},
		"half":          {others + "[ profiles . \"x\" ] # mine\nowner = '" + owner + "'\n\n[profiles.y]\n", others + "[ profiles . \"x\" ] # mine\n" + `key_file = "a.key"` + "\n" + `relays = ["wss://one.example", "wss://two.example"]` + "\nowner = '" + owner + "'\n\n[profiles.y]\n", ""},
		"another owner": {"[profiles.x]\nowner = \"" + strings.Repeat("a", 64) + "\"\n", "", "another owner"},
		"another key":   {"[profiles.x]\nkey_file = \"b.key\"\n", "", "another key_file"},
		"other relays":  {"[profiles.x]\nrelays = [\"wss://one.example\"]\n", "", "other relays"},
		"inline":        {"profiles = {x = {owner = \"" + owner + "\"}}\n", "", "by hand"},
		"inline others": {"profiles = {y = {owner = \"" + owner + "\"}}\n", "", "by hand"},
		"in a text":     {"[profiles.y]\nowner = '''\n[profiles.x]\n'''\n[profiles.'x']\n", "", "by hand"},
		"broken":        {"[profiles", "", "not valid TOML"},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := withProfile(c.text, "x", want)
			if c.wrong != "" {
				if err == nil || !strings.Contains(err.Error(), c.wrong) {
					t.Errorf("got %v\n%s", err, got)
				}
				return
			}
			if err != nil || got != c.want {
				t.Errorf("%v\n%s\nwant\n%s", err, got, c.want)
			}
			if again, err := withProfile(got, "x", want); err != nil || again != got {
				t.Errorf("the second time it changes, %v\n%s", err, again)
			}
		})
	}
}

// FuzzWithProfile: whatever the file, all that it set stays set.
func FuzzWithProfile(f *testing.F) {
	f.Add("# a\n[profiles.x]\nno_mirror = true\n")
	f.Add("profiles.x.owner = ''\n")
	f.Add("\uFEFFprofile='y'\r\n[profiles.y]\r\n")
	f.Fuzz(func(t *testing.T, text string) {
		got, err := withProfile(text, "x", settings.ProfileFile{KeyFile: "a.key", Relays: []string{"wss://one.example"}})
		if err != nil {
			return
		}
		rest := got
		for line := range strings.SplitAfterSeq(text, "\n") {
			at := strings.Index(rest, strings.TrimPrefix(line, "\uFEFF"))
			if at < 0 {
				t.Fatalf("%q is lost in\n%s", line, got)
			}
			rest = rest[at:]
		}
	})
}
