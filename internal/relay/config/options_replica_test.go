package config

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"
)

func loadText(t *testing.T, text string, env ...string) (*Config, error) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "engramd.toml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return Load(Sources{File: path, Env: env})
}

func TestReplicas(t *testing.T) {
	want := []Replica{
		{URL: "wss://one.example", Key: "/etc/engramd/a key", Filter: `{"#d":["a b"],"kinds":[30174]}`, Interval: 10 * time.Minute},
		{URL: "wss://two.example", Interval: time.Hour, Live: true},
	}
	c, err := loadText(t, `
[[replica]]
url = "wss://one.example"
key = "/etc/engramd/a key"
filter = '''{"kinds": [30174],
  "#d": ["a b"]}'''
interval = "10m"
live = false
[[replica]]
url = "wss://two.example"
`)
	if err != nil || !reflect.DeepEqual(c.Replica, want) {
		t.Fatalf("%+v, %v", c.Replica, err)
	}
	var out strings.Builder
	if err := c.WriteTOML(&out); err != nil {
		t.Fatal(err)
	}
	if again, err := loadText(t, out.String()); err != nil || !reflect.DeepEqual(again.Replica, want) {
		t.Errorf("what is printed is read as %+v, %v", again.Replica, err)
	}
	c, err = loadText(t, "", `ENGRAMD_REPLICA=wss://one.example live=false interval=10m key="/etc/engramd/a key" filter="{\"#d\":[\"a b\"],\"kinds\":[30174]}"; wss://two.example filter={}`)
	if err != nil || !reflect.DeepEqual(c.Replica, want) {
		t.Errorf("from the environment: %+v, %v", c.Replica, err)
	}
	other, err := loadText(t, "[[replica]]\nurl = \"wss://one.example\"\n")
	if err != nil {
		t.Fatal(err)
	}
	if diff := Diff(c, other); len(diff) != 1 || diff[0] != (Change{"replica", true}) {
		t.Errorf("changed: %v", diff)
	}
}

func TestReplicasThatAreWrong(t *testing.T) {
	secret := strings.Repeat("ab", 32)
	for text, want := range map[string]string{
		"[[replica]]\nkey = \"x\"":                                              "needs its url",
		"[[replica]]\nurl = \"https://x\"":                                      "url: ",
		"[[replica]]\nurl = \"wss://x\"\nkey = \"" + secret + "\"":              "never the key itself",
		"[[replica]]\nurl = \"wss://x\"\nkey = \"nsec1xyz\"":                    "never the key itself",
		"[[replica]]\nurl = \"wss://x\"\nkey = \"\"":                            "path of a file",
		"[[replica]]\nurl = \"wss://x\"\nfilter = \"[]\"":                       "no JSON object",
		"[[replica]]\nurl = \"wss://x\"\nfilter = '''{\"limit\":1}'''":          "no meaning",
		"[[replica]]\nurl = \"wss://x\"\ninterval = \"0s\"":                     "interval: ",
		"[[replica]]\nurl = \"wss://x\"\ninterval = 5":                          "interval: ",
		"[[replica]]\nurl = \"wss://x\"\nlive = \"yes\"":                        "live: ",
		"[[replica]]\nurl = \"wss://x\"\nkeys = \"a\"":                          `"keys" is not one of`,
		"replica = [\"wss://x\"]":                                               "want a table",
		"[replica]\nurl = \"wss://x\"":                                          "replica",
		"[[replica]]\nurl = \"wss://x\"\n[[replica]]\nurl = \"wss://y\"\nx = 1": "entry 2",
	} {
		_, err := loadText(t, text)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s\n%v, want %q", text, err, want)
		}
		if err != nil && strings.Contains(err.Error(), secret) {
			t.Error("an error shows a key")
		}
	}
	for _, env := range []string{"wss://x url=wss://y", "wss://x wss://y", `wss://x key="/a`, "wss://x live=maybe", "live=true"} {
		if _, err := loadText(t, "", "ENGRAMD_REPLICA="+env); err == nil {
			t.Errorf("%s is taken", env)
		}
	}
}
