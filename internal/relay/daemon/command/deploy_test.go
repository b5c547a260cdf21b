package command

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"engramd/internal/relay/config"
)

func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestDockerfile: the image has an unprivileged user, data in a volume, a
// health check that is an engramd command, and no build tags of its own.
func TestDockerfile(t *testing.T) {
	text := read(t, "../../../../Dockerfile")
	_, final, ok := strings.Cut(text, "FROM gcr.io/distroless/")
	if !ok {
		t.Fatal("the final stage is not distroless")
	}
	for _, want := range []string{"\nUSER 65532:65532\n", "\nVOLUME /data\n", `"healthcheck"]`, "ENGRAMD_DATA=/data", "--chown=65532:65532 /data /data", `CMD ["serve"]`, "STOPSIGNAL SIGTERM"} {
		if !strings.Contains(final, want) {
			t.Errorf("the final stage lacks %q", want)
		}
	}
	if !strings.Contains(text, "RUN make product") || strings.Contains(text, " -tags ") {
		t.Error("the image must be built by make, which alone knows the build tags")
	}
	for _, m := range regexp.MustCompile(`\b(ENGRAMD_[A-Z_]+)=`).FindAllStringSubmatch(text, -1) {
		if !isVariable(m[1]) {
			t.Errorf("%s is not a variable of engramd", m[1])
		}
	}
}

// TestDocsNameWhatExists: the commands, keys and variables in the operator's
// docs exist.
func TestDocsNameWhatExists(t *testing.T) {
	commands := map[string]bool{}
	for _, d := range descriptions() {
		commands[d.name] = true
	}
	unit := read(t, "../../../../docs/systemd/engramd.service")
	if !strings.Contains(unit, "RestartPreventExitStatus=2") || !strings.Contains(unit, "kill -HUP") {
		t.Error("the unit does not know the exit code of a bad configuration, or how to reload")
	}
	if !strings.Contains(unit, "\nSystemCallFilter=adjtimex\n") || strings.Contains(unit, "\nProtectClock=yes\n") {
		t.Error("the unit does not let the relay ask whether the clock is synchronised")
	}
	for _, path := range []string{"../../../../docs/operating.md", "../../../../docs/configuration.md", "../../../../docs/systemd/engramd.service", "../../../../README.md"} {
		text := read(t, path)
		if before, removed, ok := strings.Cut(text, "## Removed options\n"); ok { // see config.TestRemovedOptionsAreDocumented
			_, after, _ := strings.Cut(removed, "\n## ")
			text = before + after
		}
		for _, m := range regexp.MustCompile("(?m)(?:`|bin/|^)engramd ([a-z]+)(?:`| [-A-Z\\[>|]|$)").FindAllStringSubmatch(text, -1) {
			if !commands[m[1]] {
				t.Errorf("%s: engramd %s is no command", path, m[1])
			}
		}
		for _, m := range regexp.MustCompile(`\b(ENGRAMD_[A-Z_]+[A-Z])\b`).FindAllStringSubmatch(text, -1) {
			if !isVariable(m[1]) {
				t.Errorf("%s: %s is not a variable of engramd", path, m[1])
			}
		}
		for _, m := range regexp.MustCompile("`((?:log|info|gate|write|limits|timeouts|auth|req|history|proxy|store)\\.[a-z_]+)`").FindAllStringSubmatch(text, -1) {
			if !isKey(m[1]) {
				t.Errorf("%s: %s is not an option", path, m[1])
			}
		}
	}
}

// TestHelpNamesSections: each section of a page that an option's help names
// exists.
func TestHelpNamesSections(t *testing.T) {
	for _, o := range config.Options() {
		for _, m := range regexp.MustCompile(`\((docs/[a-z0-9-]+\.md), ([^)]+)\)`).FindAllStringSubmatch(o.Help, -1) {
			if !strings.Contains(read(t, "../../../../"+m[1]), "\n## "+m[2]+"\n") {
				t.Errorf("%s: %s has no section %q", o.Key, m[1], m[2])
			}
		}
	}
}

func isVariable(name string) bool {
	if name == "ENGRAMD_CONFIG" || name == "ENGRAMD_SECTION_KEY" || name == "ENGRAMD_PORT" || name == "ENGRAMD_SERVICE" {
		return true // the file's own variable, a pattern, and Kubernetes'
	}
	for _, o := range config.Options() {
		if o.Env() == name {
			return true
		}
	}
	return false
}

func isKey(key string) bool {
	for _, o := range config.Options() {
		if o.Key == key {
			return true
		}
	}
	return false
}
