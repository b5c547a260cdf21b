package doctor

import (
	"cmp"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"engramd/internal/agent/session"
	"engramd/internal/cli/cliutil"
	"engramd/internal/cli/exit"
	"engramd/internal/cli/hooklog"
	"engramd/internal/client"
	memorystate "engramd/internal/memory/state"
)

// only returns the one finding of a check.
func only(t *testing.T, check func(d *doctor)) finding {
	t.Helper()
	a := cliutil.New(&cliutil.System{Env: []string{"PATH=" + os.Getenv("PATH")}, Slack: 30 * time.Second})
	a.Flags.Timeout = time.Minute
	d := &doctor{env: a}
	check(d)
	if len(d.found) != 1 {
		t.Fatalf("%d findings: %v", len(d.found), d.found)
	}
	return d.found[0]
}

func TestDoctorClock(t *testing.T) {
	now := time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)
	for _, c := range []struct {
		off  time.Duration
		want state
		text string
	}{
		{0, fine, ""}, {3 * time.Second, fine, ""}, {-time.Minute, warned, "1m0s behind"}, {time.Minute, warned, "1m0s ahead"},
		{time.Hour, failed, "1h0m0s ahead"}, {-time.Hour, failed, "1h0m0s behind"},
	} {
		got := only(t, func(d *doctor) { compareClock(d, "wss://a.example", now, now.Add(c.off)) })
		if got.State != c.want || !strings.Contains(got.Text, c.text) || (c.want != fine) != (got.Remedy != "") {
			t.Errorf("%v: %+v", c.off, got)
		}
	}
	if got := only(t, func(d *doctor) { compareClock(d, "wss://a.example", time.Time{}, now) }); got.State != untried {
		t.Errorf("without a date: %+v", got)
	}
}

func TestDoctorVersion(t *testing.T) {
	const engramd = "pkg:generic/engramd"
	for _, c := range []struct {
		software, theirs, ours string
		want                   state
	}{
		{engramd, "v1.2.0", "v1.2.0", fine}, {engramd, "1.2.0", "v1.2.0", fine}, {engramd, cliutil.Unreleased, cliutil.Unreleased, fine},
		{engramd, "v1.1.0", "v1.2.0", warned}, {"strfry", "v1.2.0", "v1.2.0", warned},
		{engramd, "v1.2.0", cliutil.Unreleased, untried}, {engramd, cliutil.Unreleased, "v1.2.0", untried},
	} {
		got := only(t, func(d *doctor) {
			compareVersion(d, "wss://a.example", client.RelayInfo{Software: c.software, Version: c.theirs}, c.ours)
		})
		if got.State != c.want {
			t.Errorf("%+v: %+v", c, got)
		}
	}
}

// TestDoctorExitCode: it is that of the first failure, whichever failures
// follow.
func TestDoctorExitCode(t *testing.T) {
	d := &doctor{env: cliutil.New(&cliutil.System{})}
	if d.add("a", warned, "", "b"); d.failure() != nil {
		t.Error("a warning fails")
	}
	d.fail("relay", client.ErrNoRelay, "")
	d.fail("key", exit.Usagef("no key"), "")
	err := d.failure()
	if exit.CodeOf(err) != exit.Relay || err.Error() != "2 of 3 checks failed" {
		t.Errorf("%d: %v", exit.CodeOf(err), err)
	}
}

// TestDoctorOutbox: what waits for more than a day is worth a word, with the reason.
func TestDoctorOutbox(t *testing.T) {
	d := &doctor{env: cliutil.New(&cliutil.System{})}
	since := func(age time.Duration, reason string) session.Waiting {
		return session.Waiting{Queued: memorystate.Queued{At: time.Now().Add(-age), Reason: reason}}
	}
	waits(d, nil)
	waits(d, []session.Waiting{since(23*time.Hour, "quota")})
	if len(d.found) > 0 {
		t.Errorf("%+v", d.found)
	}
	got := only(t, func(d *doctor) {
		waits(d, []session.Waiting{since(25*time.Hour, "blocked: quota"), since(time.Hour, "")})
	})
	if got.State != warned || !strings.Contains(got.Text, "2 writes wait on this machine") || !strings.HasSuffix(got.Text, "blocked: quota") || !strings.Contains(got.Remedy, "outbox send") {
		t.Errorf("%+v", got)
	}
}

// TestSilentPrompts: prompts that were not answered are a warning, with the reasons, and
// none is not worth a line.
func TestSilentPrompts(t *testing.T) {
	line := func(event, outcome string) string {
		return "2026-11-28T10:00:00Z " + event + " codex session=s outcome=\"" + outcome + "\" bytes=0 took=9ms\n"
	}
	many := func(n int, line string) string { return strings.Repeat(line, n) }
	for name, c := range map[string]struct{ old, log, want string }{
		"no log":       {"", "", ""},
		"all answered": {"", many(60, line("prompt", "ok")), ""},
		"other events": {"", line("stop", "late") + line("session-start", "exit code 4") + line("prompt", "ok"), ""},
		"one":          {many(60, line("prompt", "late")), many(49, line("prompt", "ok")), "1 of the last 50 prompts was not answered in time: 1 late"},
		"several": {line("prompt", "settings or key"), many(37, line("prompt", "ok")) + many(2, line("prompt", "no input in time")) + many(9, line("prompt", "late")) + line("prompt", "fault") + "torn",
			"13 of the last 50 prompts were not answered: 1 fault, 9 late, 2 no input in time, 1 settings or key"},
		"none late": {"", line("prompt", "settings or key") + line("prompt", "input not readable"), "2 of the last 2 prompts were not answered: 1 input not readable, 1 settings or key"},
		"not ours":  {"", "2026 prompt codex session=s outcome=\"\x1b[31m\" bytes=0\n" + strings.Repeat("x", 3*hooklog.Max), ""},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			for end, text := range map[string]string{".old": c.old, "": c.log} {
				path := filepath.Join(dir, "engramd", "hook.log"+end)
				if err := cmp.Or(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(text), 0o600)); err != nil {
					t.Fatal(err)
				}
			}
			d := &doctor{env: cliutil.New(&cliutil.System{Env: []string{"XDG_STATE_HOME=" + dir}})}
			d.prompts()
			if c.want == "" && len(d.found) > 0 || c.want != "" && (len(d.found) != 1 || d.found[0].Text != c.want || d.found[0].State != warned ||
				strings.Contains(d.found[0].Remedy, "hook_time") != strings.Contains(c.want, "late")) {
				t.Errorf("%+v", d.found)
			}
		})
	}
}
