package pages

import (
	"context"
	"reflect"
	"testing"
)

const sample = "# Page\n\n## One\n\n```console\n$ echo a\na\n$ cat <<END\n> b\n>   c\n> END\nb\n  c\n```\ntext\n```sh\n#!/bin/sh\n# x.sh: does\ntrue\n```\n```console\n$ true\n```\n## Two\n\n```console\n$ no\n```\n"

func TestConsole(t *testing.T) {
	section, err := Section(sample, "One")
	if err != nil {
		t.Fatal(err)
	}
	want := []Step{{"echo a", "a", 0}, {"cat <<END\nb\n  c\nEND", "b\n  c", 0}, {"true", "", 1}}
	got := Console(section)
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%+v", got)
	}
	if Fill(section, got) != section {
		t.Errorf("Fill with what is there changes it: %s", Fill(section, got))
	}
	if scripts := Scripts(section); len(scripts) != 1 || scripts["x.sh"] != "#!/bin/sh\n# x.sh: does\ntrue\n" {
		t.Errorf("%q", scripts)
	}
	if _, err := Section(sample, "Three"); err == nil {
		t.Error("a section that is not there")
	}
}

func TestRun(t *testing.T) {
	dir := t.TempDir()
	steps := []Step{{Command: "a=1"}, {Command: "echo $a; echo two >&2"}, {Command: "false"}, {Command: "echo $?"}, {Command: "printf x"}}
	got, err := Run(context.Background(), dir, Env(dir), steps)
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []string{"", "1\ntwo", "", "1", "x"} {
		if got[i].Output != want {
			t.Errorf("%s: %q, want %q", steps[i].Command, got[i].Output, want)
		}
	}
	if _, err := Run(context.Background(), dir, Env(dir), []Step{{Command: "exit 3"}, {Command: "true"}}); err == nil {
		t.Error("a shell that ended early")
	}
}

func TestSame(t *testing.T) {
	const npub = "npub1xqxmt2dmun7sh0f20pv5uqdcy9yxuhkwxuzruskrcun87qwl7z2sl36lvn"
	const other = "npub1e0jusm3v2vl228ulz6h9rxpnftyapg7u6drp4ezszss3867pdpmqkzfwwa"
	for _, c := range []struct {
		shown, got string
		want       bool
	}{
		{"a", "a", true},
		{"a", "b", false},
		{"a", "a\nb", false},
		{"key " + npub, "key " + other, true},
		{"at 2026-01-01T00:00:00Z", "at 2027-12-31T23:59:59Z", true},
		{"an … b", "an x y b", true},
		{"an … b", "an x\ny b", false},
		{"(a.c)", "(abc)", false},
	} {
		if Same(c.shown, c.got) != c.want {
			t.Errorf("Same(%q, %q) is not %v", c.shown, c.got, c.want)
		}
	}
}
