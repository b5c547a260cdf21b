package doctor

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"engramd/internal/agent/session"
	"engramd/internal/cli/cliutil"
	"engramd/internal/cli/exit"
	"engramd/internal/cli/hooklog"
	"engramd/internal/cli/settings"
	"engramd/internal/client"
	"engramd/internal/platform/files"
	"engramd/nips/nipae"
)

// programPatience is how long another engramctl may take to tell its version.
const programPatience = 5 * time.Second

// programs looks for several engramctl in PATH.
func (d *doctor) programs(ctx context.Context) {
	self, err := cliutil.Self(d.env)
	if err != nil {
		d.fail("program", err, "install engramctl again")
		return
	}
	mine, err := os.Stat(self)
	if err != nil {
		d.fail("program", err, "install engramctl again")
		return
	}
	name := "engramctl"
	if runtime.GOOS == "windows" {
		name += ".exe"
	}
	var others []string
	for _, dir := range filepath.SplitList(d.env.Vars["PATH"]) {
		path := filepath.Join(dir, name)
		info, err := os.Stat(path)
		if !filepath.IsAbs(path) || err != nil || !info.Mode().IsRegular() || !cliutil.Runnable(info) || os.SameFile(mine, info) {
			continue
		}
		if said := d.versionOf(ctx, path); said != d.env.Version {
			others = append(others, fmt.Sprintf("%s (%s)", path, said))
		}
	}
	if len(others) > 0 {
		d.add("program", warned, "remove those that are not meant, or run engramctl setup with the one that is", "this is %s (%s), and in PATH there are others: %s", self, d.env.Version, strings.Join(others, ", "))
		return
	}
	d.add("program", fine, "", "%s (%s)", self, d.env.Version)
}

// versionOf asks another engramctl for its version.
func (d *doctor) versionOf(ctx context.Context, path string) string {
	ctx, cancel := context.WithTimeout(ctx, d.env.Allow(programPatience))
	defer cancel()
	cmd := exec.CommandContext(ctx, path, "version")
	cmd.Env, cmd.WaitDelay = d.env.System.Env, time.Second
	out, err := cmd.Output()
	words := strings.Fields(string(out))
	if err != nil || len(words) < 2 || words[0] != "engramctl" {
		return "of no version"
	}
	return cliutil.Harmless(words[1])
}

// environment looks for variables that switch things off.
func (d *doctor) environment(context.Context) {
	switch hooks := d.env.Vars["ENGRAM_HOOKS"]; {
	case hooks == "off":
		d.add("variables", warned, "unset ENGRAM_HOOKS where the harness starts", "ENGRAM_HOOKS is off: hooks and engramctl mcp end at once")
	case d.env.Vars["ENGRAM_KEY"] != "":
		d.add("variables", warned, "engramctl setup keeps the key in a file or in the system's key store", "ENGRAM_KEY holds a key, which every program that is started from here can read")
	default:
		d.add("variables", fine, "", "none of them switches anything off")
	}
}

// profileAndKey looks at the configuration; ok says that the relays can be asked.
func (d *doctor) profileAndKey(ctx context.Context) (s settings.Settings, ok bool) {
	path, _ := d.env.ConfigPath()
	s, err := d.env.Settings()
	if err != nil {
		d.fail("profile", err, "mend "+path+", or run engramctl setup")
		return s, false
	}
	switch {
	case s.Owner == "" && s.Agent == "":
		d.fail("profile", exit.Usagef("no owner: whose memory is it?"), "run engramctl setup, or give --owner")
	case len(s.Relays) == 0:
		d.fail("profile", exit.Usagef("no relay is configured"), "run engramctl setup, or give --relay")
	default:
		d.add("profile", fine, "", "%s: owner and %s are known", path, cliutil.Counted(len(s.Relays), "relay", "relays"))
		ok = true
	}
	return s, d.key(ctx, s) && ok
}

// key looks at the agent's key, and asks for no password: hooks cannot either.
func (d *doctor) key(ctx context.Context, s settings.Settings) bool {
	id, err := d.env.Identity(ctx, s)
	if err != nil {
		d.fail("key", err, "engramctl setup makes one where there is none")
		return false
	}
	switch {
	case s.Key.Stored != "":
		d.add("key", fine, "", "in the system's key store: %s", settings.Npub(id.PubKey()))
	case s.Key.Inline != "":
		d.add("key", fine, "", "in ENGRAM_KEY: %s", settings.Npub(id.PubKey()))
	default:
		if info, err := os.Stat(s.Key.File); err != nil || !files.Owned(info) {
			d.fail("key", exit.Usagef("key file %s is not this user's", s.Key.File), "chown it")
			return false
		}
		d.add("key", fine, "", "%s, for its user only: %s", s.Key.File, settings.Npub(id.PubKey()))
	}
	return true
}

// list looks at the agent's own list of relays.
func (d *doctor) list(ctx context.Context) {
	opened, err := d.env.Session(ctx)
	if err != nil {
		d.fail("list", err, "")
		return
	}
	defer opened.Close()
	c, m := opened.Client, opened.Memory
	if opened.Discovery() == nil {
		d.add("list", untried, "", "the agent's list of relays is not looked for (--relay, --no-discovery or discovery in the profile)")
		return
	}
	ctx, done := d.env.Bounded(ctx)
	defer done()
	configured := c.Relays()
	if err := c.Discover(ctx, m.Agent()); err != nil {
		d.fail("list", err, "")
		return
	}
	doubts, left := c.Doubts(), c.LeftOut()
	switch {
	case len(doubts) > 0:
		d.add("list", warned, "run engramctl relays ls", "the agent's list of relays may not be the newest: %s: %v", settings.ShownURL(doubts[0].URL), doubts[0].Err)
	case len(left) > 0:
		d.add("list", warned, "engramctl relays set writes the list; discovery in the profile says that this is meant", "the agent's list of relays does not name %s: clients that go by the list find nothing that is only there", strings.Join(left, " and "))
	default:
		d.add("list", fine, "", "the agent's list of relays adds %d to the %d of the profile", len(c.Relays())-len(configured), len(configured))
	}
}

// core looks whether the core is there and can be read.
func (d *doctor) core(ctx context.Context) {
	err := cliutil.WithMemory(ctx, d.env, func(ctx context.Context, m *session.Memory) error {
		entry, status, err := m.Read(ctx, nipae.Core)
		switch {
		case errors.Is(err, client.ErrNotFound):
			switch err := cliutil.MayBegin(ctx, m); {
			case errors.Is(err, client.ErrBehind):
				d.add("core", warned, "engramctl verify shows what is missing, and engramctl repair --accept-loss core gives it up", "%v", err)
				return nil
			case err != nil:
				d.fail("core", err, "check owner and key")
				return nil
			}
			d.add("core", fine, "", "there is none yet: the agent is told to begin")
		case err != nil:
			return err
		case status.Queued:
			d.add("core", fine, "", "%d bytes, not sent yet: it waits on this machine (engramctl outbox ls)", entry.Size)
		case status.Partial:
			d.add("core", warned, "see the relays above", "%d bytes, not confirmed by every relay", entry.Size)
		default:
			d.add("core", fine, "", "%d bytes, of %s", entry.Size, cliutil.Stamp(entry.CreatedAt))
		}
		return nil
	})
	if err != nil {
		d.fail("core", err, "engramctl core -v shows what the relays say")
	}
}

// copy looks at the copy of the memory on this machine.
func (d *doctor) copy(ctx context.Context) {
	opened, err := d.env.Session(ctx)
	if err != nil {
		d.fail("copy", err, "")
		return
	}
	defer opened.Close()
	var said []string
	l, err := opened.Copies.Open(ctx, func(line string) { said = append(said, line) })
	if err != nil {
		d.fail("copy", err, "remove the folder of copies: they are made anew")
		return
	}
	defer func() { _ = l.Close() }() // what was kept is kept
	if err := l.CatchUp(ctx, 0); err != nil {
		d.fail("copy", err, "")
		return
	}
	fresh, err := l.Follower.Freshness(ctx)
	switch {
	case err != nil:
		d.fail("copy", err, "remove the folder of copies: they are made anew")
	case len(said) > 0:
		d.add("copy", warned, "give this user the folder of caches", "%s", said[0])
	case fresh.Stale || fresh.Unfinished:
		d.add("copy", warned, "see the relays above", "not all relays have confirmed the copy on this machine")
	default:
		d.add("copy", fine, "", "every relay was asked for the copy on this machine")
	}
}

// missing looks for what this machine knows and no relay shows, and for relays that lack
// what others show.
func (d *doctor) missing(ctx context.Context, s settings.Settings) {
	if s.NoMirror || d.env.Flags.NoMirror {
		d.add("missing", untried, "", "nothing is kept on this machine")
		return
	}
	opened, err := d.env.Session(ctx)
	if err == nil {
		defer opened.Close()
		err = opened.Repair(ctx, false, func(ctx context.Context, r *session.Repair) error {
			const remedy = "engramctl repair sends it again; engramctl repair --accept-loss gives it up"
			switch behind := r.Behind(); {
			case behind.Behind == 0:
				d.add("missing", fine, "", "relays show all that this machine knows")
			case s.Agent != "" && behind.Withheld == behind.Behind:
				d.add("missing", warned, remedy, "no relay shows %s any more: deleted by the agent, or lost", cliutil.Counted(behind.Behind, "memory", "memories"))
			default:
				d.fail("missing", fmt.Errorf("%w: of %s", client.ErrBehind, cliutil.Counted(behind.Behind, "memory", "memories")), remedy)
			}
			lacks, err := r.Lacking(ctx)
			for _, url := range slices.Sorted(maps.Keys(lacks)) {
				d.add("missing", warned, "engramctl sync", "%s lacks %d that others have", settings.ShownURL(url), lacks[url])
			}
			return err
		})
	}
	if err != nil {
		d.fail("missing", err, "")
	}
}

// state looks at what only this machine knows.
func (d *doctor) state(ctx context.Context, s settings.Settings) {
	if s.NoMirror || d.env.Flags.NoMirror || s.Agent != "" {
		d.add("state", untried, "", "none is kept")
		return
	}
	opened, err := d.env.Session(ctx)
	if err != nil {
		d.fail("state", err, "")
		return
	}
	defer opened.Close()
	var said []string
	state, err := opened.OpenState(ctx, func(line string) { said = append(said, line) })
	if err != nil {
		d.fail("state", exit.BadUsage(err), "give this user the folder "+cliutil.StateFolder(d.env))
		return
	}
	defer state.Close()
	if _, _, err := state.Counters.All(ctx); err != nil {
		d.fail("state", exit.BadUsage(err), "give this user the folder "+cliutil.StateFolder(d.env))
		return
	}
	if len(said) > 0 {
		d.add("state", warned, "nothing: a new one was begun", "%s", said[0])
		return
	}
	d.add("state", fine, "", "%s can be written", cliutil.StateFolder(d.env))
	outbox(ctx, d, opened.Outbox)
}

// prompts says how many of the last prompts were not answered, and why.
func (d *doctor) prompts() {
	why, of := hooklog.Silent(d.env, lastPrompts)
	n, reasons := 0, ""
	for _, reason := range slices.Sorted(maps.Keys(why)) {
		n += why[reason]
		reasons += fmt.Sprintf(", %d %s", why[reason], reason)
	}
	if n > 0 {
		were := map[bool]string{true: "was", false: "were"}[n == 1]
		inTime, remedy := "", "mend what the other checks name; nothing, where all are fine by now"
		if late := why[hooklog.Late] + why[hooklog.SaidLate]; late > 0 {
			remedy = `hook_time = "2s" in the profile gives hooks more time`
			if late == n {
				inTime = " in time"
			}
		}
		d.add("prompts", warned, remedy, "%d of the last %d prompts %s not answered%s: %s", n, of, were, inTime, reasons[2:])
	}
}

// lastPrompts is of how many prompts it is told how many were late.
const lastPrompts = 50

// waitsLong is how long a write may wait on this machine before that is worth a word.
const waitsLong = 24 * time.Hour

// outbox looks at what waits on this machine.
func outbox(ctx context.Context, d *doctor, o *session.Outbox) {
	for _, a := range o.Aside(ctx) {
		d.add("outbox", warned, "engramctl outbox import "+a.File, "%s", a)
	}
	all, err := o.All(ctx)
	if err != nil {
		d.fail("outbox", err, "")
	}
	waits(d, all)
}

// waits says that something has waited too long.
func waits(d *doctor, all []session.Waiting) {
	if len(all) > 0 && time.Since(all[0].At) > waitsLong {
		d.add("outbox", warned, "engramctl outbox send; engramctl outbox ls says what keeps it", "%s on this machine since %s: %s", cliutil.Counted(len(all), "write waits", "writes wait"),
			cliutil.Stamp(all[0].At.Unix()), cmp.Or(all[0].Reason, "no relay has answered"))
	}
}
