package installed

import (
	"path/filepath"
	"strings"
	"testing"
)

// TestPip installs the wheel for this machine out of a folder with all of them,
// into an empty environment, and nothing from anywhere else.
func TestPip(t *testing.T) {
	env, venv := clean(t), filepath.Join(t.TempDir(), "venv")
	run(t, env, "", "python3", "-m", "venv", venv)
	python := filepath.Join(venv, "bin/python")
	run(t, env, "", python, "-m", "pip", "install", "--no-index", "--pre", "--find-links", filepath.Join(dist, "pypi"), "engramctl")
	command := filepath.Join(venv, "bin/engramctl")
	serveMCP(t, env, "installed/pip", command, "mcp", "--tools", "memory")

	show := run(t, env, "", python, "-m", "pip", "show", "--verbose", "engramctl")
	for _, want := range []string{"Name: engramctl\n", "Author: engramd\n"} {
		if !strings.Contains(show, want) {
			t.Errorf("pip show lacks %q:\n%s", want, show)
		}
	}
	run(t, env, "", python, "-m", "pip", "check")
	run(t, env, "", python, "-m", "pip", "uninstall", "-y", "engramctl")
	if left := run(t, nil, venv, "find", ".", "-iname", "*engramctl*"); left != "" {
		t.Errorf("uninstalled, it leaves %s", left)
	}

	// pip chooses by the tags, also for machines that are not this one.
	for _, platform := range []string{"macosx_12_0_arm64", "macosx_14_0_x86_64", "win_amd64", "win_arm64", "manylinux_2_17_aarch64", "manylinux2014_x86_64", "musllinux_1_1_x86_64"} {
		folder := t.TempDir()
		run(t, env, folder, python, "-m", "pip", "download", "--no-index", "--pre", "--no-deps", "--only-binary=:all:",
			"--platform", platform, "--find-links", filepath.Join(dist, "pypi"), "engramctl")
	}
}
