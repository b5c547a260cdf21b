package bench

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestCopyKeepsContentAndHoles(t *testing.T) {
	from, to := t.TempDir(), filepath.Join(t.TempDir(), "copy")
	sparse := filepath.Join(from, "inner", "sparse")
	if err := os.MkdirAll(filepath.Dir(sparse), 0o700); err != nil {
		t.Fatal(err)
	}
	f, err := os.Create(sparse)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	block := bytes.Repeat([]byte("x"), 1<<16)
	for _, at := range []int64{0, 32 << 20} {
		if _, err := f.WriteAt(block, at); err != nil {
			t.Fatal(err)
		}
	}
	if err := f.Truncate(64 << 20); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(from, "empty"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := copyDir(from, to); err != nil {
		t.Fatal(err)
	}
	want, _ := os.ReadFile(sparse)
	got, err := os.ReadFile(filepath.Join(to, "inner", "sparse"))
	if err != nil || !bytes.Equal(got, want) {
		t.Errorf("%d bytes of %d, %v", len(got), len(want), err)
	}
	if _, err := os.Stat(filepath.Join(to, "empty")); err != nil {
		t.Error(err)
	}
	if used, err := diskUse(to); err != nil || used > 1<<20 {
		t.Errorf("the copy takes %d bytes, %v", used, err)
	}
	if err := copyDir(from, to); err == nil {
		t.Error("a copy was written over another")
	}
}

func TestFillKeyFollowsWhatItDependsOn(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	key := func(fill string) string {
		k, err := fillKey(&Server{Fill: fill, Depends: []string{filepath.Join(dir, "*.go")}})
		if err != nil {
			t.Fatal(err)
		}
		return k
	}
	keys := []string{key("a")}
	write("a.go", "one")
	keys = append(keys, key("a"), key("b"))
	write("a.go", "two")
	keys = append(keys, key("a"))
	slices.Sort(keys)
	if len(slices.Compact(slices.Clone(keys))) != 4 {
		t.Errorf("keys are the same: %v", keys)
	}
	before := key("a")
	write("a_test.go", "a test changes nothing")
	write("a.md", "neither does this")
	if key("a") != before {
		t.Error("the key depends on files that do not matter")
	}
}

func TestArgvKeepsAPathWithBlanksTogether(t *testing.T) {
	got := argv("serve --data {data} x={file}", map[string]string{"data": "/a b/c", "file": "f"})
	if !slices.Equal(got, []string{"serve", "--data", "/a b/c", "x=f"}) {
		t.Errorf("%q", got)
	}
}

func TestReadyLine(t *testing.T) {
	for line, want := range map[string]string{
		`ready url=ws://127.0.0.1:1234`: "ws://127.0.0.1:1234",
		`time=x level=INFO msg="ready url=ws://[::1]:99 metrics=http://[::1]:1/metrics"`: "ws://[::1]:99",
		`url=ws://h:1 is not said to be so`:                                              "",
		`already url=ws://h:1`:                                                           "",
	} {
		got := ""
		if m := readyLine.FindStringSubmatch(line); m != nil {
			got = m[1]
		}
		if got != want {
			t.Errorf("%s: %q, want %q", line, got, want)
		}
	}
}

// Every file that the configuration of `make bench` depends on exists.
func TestConfigOfTheProject(t *testing.T) {
	c, err := ReadConfig("../../peers/bench.toml")
	if err != nil {
		t.Fatal(err)
	}
	if len(c.Targets) < 12 || len(c.Servers) != 5 {
		t.Errorf("%d targets, %d servers", len(c.Targets), len(c.Servers))
	}
	for _, s := range c.Servers {
		for _, pattern := range s.Depends {
			if found, err := filepath.Glob("../../../../" + pattern); err != nil || len(found) == 0 {
				t.Errorf("%s depends on %s, which is nothing", s.Name, pattern)
			}
		}
	}
}

func TestConfigIsChecked(t *testing.T) {
	good, err := os.ReadFile("../../peers/bench.toml")
	if err != nil {
		t.Fatal(err)
	}
	for name, change := range map[string][2]string{
		"unknown key":         {`seed = 1`, "seed = 1\nsead = 2"},
		"no rounds":           {`rounds = 3`, `rounds = 0`},
		"unknown subject":     {`subject = "engramd"`, `subject = "nobody"`},
		"unknown base":        {`base = "null"`, `base = "nobody"`},
		"name taken":          {`name = "lmdb"`, `name = "null"`},
		"name with a slash":   {`name = "lmdb"`, `name = "../lmdb"`},
		"unknown workload":    {`workload = "publish"`, `workload = "fly"`},
		"sizes missing":       {`sizes = [10_000, 100_000, 1_000_000]`, ``},
		"size not measured":   {`size = 100_000`, `size = 77`},
		"min and max":         {`min = 2.2`, "min = 2.2\nmax = 3.0"},
		"target of no server": {`of = { server = "null" }`, `of = { server = "nil" }`},
		"target unmeasured":   {`measure = "publish"`, `measure = "publisher"`},
		"count of nothing":    {`publish = 5_000`, `published = 5_000`},
		"no TOML":             {`seed = 1`, `seed = `},
	} {
		text := strings.Replace(string(good), change[0], change[1], 1)
		if text == string(good) {
			t.Errorf("%s: nothing was changed", name)
			continue
		}
		if _, err := ParseConfig(text); !errors.Is(err, ErrConfig) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
