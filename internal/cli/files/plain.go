package files

import (
	"bufio"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"engramd/internal/agent/session"
	"engramd/internal/cli/cliutil"
	"engramd/internal/cli/exit"
	"engramd/internal/cli/files/from"
	"engramd/internal/cli/mem/edit"
	clisnapshot "engramd/internal/cli/snapshot"
	"engramd/internal/client"
	"engramd/internal/client/memory"
	"engramd/internal/memory/folder"
	"engramd/internal/memory/write"
	"engramd/nips/nipae"
)

// mostPlain bounds a line of a plain export: a text in JSON is at most six times
// as long.
const mostPlain = 8 * nipae.MaxBody

// isPlain reports whether an argument is what snapshot export --plain wrote.
func isPlain(env *cliutil.Env, arg string) bool {
	info, err := os.Stat(env.Path(arg))
	return err == nil && info.Mode().IsRegular() && strings.HasSuffix(arg, ".jsonl")
}

// errUnproven is an export of which nothing shows that this pair made it as it is.
var errUnproven = errors.New("no mark of this agent and owner")

// importPlain writes what snapshot export --plain wrote, as a folder that has
// never been synced: what is there with another text is left alone. The error is
// errUnproven where neither a mark nor a person says that it is the agent's own.
func importPlain(ctx context.Context, env *cliutil.Env, file string, f Options) error {
	opened, err := env.Session(ctx, cliutil.Patiently)
	if err != nil {
		return err
	}
	defer opened.Close()
	c, m := opened.Client, opened.Memory
	if !m.Writable() {
		return exit.Usagef("%w", client.ErrReadOnly)
	}
	in, err := os.Open(env.Path(file))
	if err != nil {
		return exit.Usagef("%s: %w", filepath.Base(file), err)
	}
	defer in.Close()
	records, proven, err := readPlain(in, m.Owner(), func(sum, mark string) bool { return session.Exported(opened, sum, mark) })
	if err != nil {
		return exit.Usagef("%s: %w", filepath.Base(file), err)
	}
	switch {
	case proven:
		env.Note("%s bears the mark of this agent and owner: its texts count as the agent's own", file)
	case f.Vouched:
		env.Note("%s has no mark that fits: its texts count as the agent's own because --trust observed says so", file)
	default:
		return errUnproven
	}
	if err := m.Session().Discover(ctx); err != nil {
		return err
	}
	l, status, err := m.ListAll(ctx)
	if err := env.Report(status, err); err != nil {
		return err
	}
	if status.Partial {
		return fmt.Errorf("%w: what one has may be where this would be written, and nothing is", client.ErrPartial)
	}
	there := map[nipae.Slug]string{}
	for _, e := range l.Memories {
		there[e.Slug] = e.Hash
	}
	if l.Core != nil {
		there[nipae.Core] = l.Core.Hash
	}
	r := &folderRun{Env: env, Options: f, mode: folder.Import, dir: file, c: c, m: m, status: status, state: &folder.State{}}
	r.out.DryRun, r.first = f.DryRun || !f.Yes, true
	r.writer = newFolderMemory(r)
	r.writer.proven = proven
	r.begin(&folder.Listing{})
	return opened.Copies.InBulk(ctx, func() error { return r.takeRecords(ctx, records, there) })
}

func (r *folderRun) takeRecords(ctx context.Context, records []clisnapshot.ExportedOut, there map[nipae.Slug]string) error {
	for _, e := range records {
		s := folder.Step{Slug: nipae.Slug(e.Slug), Path: e.Slug, What: folder.ToMemory, New: true}
		switch hash := there[s.Slug]; {
		case e.Redacted > 0:
			s.What, s.Why = folder.Left, "secrets in it were replaced when it was exported"
		case write.Reserved(s.Slug):
			s.What, s.Why = folder.Left, "the slug is reserved for programs"
		case hash == client.Hash(e.Text):
			s.What = folder.Same
		case hash != "":
			s.What, s.Why = folder.Left, "the memory has another text"
		case r.out.DryRun:
		default:
			if _, err := r.writer.Set(ctx, s.Slug, e.Text, memory.BaseNone); err != nil {
				s.What, s.Why = folder.Refused, err.Error()
			}
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		r.did(s)
	}
	err := r.finish()
	if r.Flags.JSON {
		_ = r.PrintJSON(r.out) // what it ends with says more
	}
	return err
}

// readPlain reads the texts for an owner, each slug once. proven reports whether the
// last line has a mark that the pair made of all before it.
func readPlain(file io.Reader, owner string, marks func(sum, mark string) bool) (out []clisnapshot.ExportedOut, proven bool, err error) {
	lines, sum := bufio.NewScanner(file), sha256.New()
	lines.Buffer(nil, mostPlain)
	seen := map[string]bool{}
	for n := 1; lines.Scan(); n++ {
		var e struct {
			clisnapshot.ExportedOut
			clisnapshot.ExportMark
		}
		if err := json.Unmarshal(lines.Bytes(), &e); err != nil {
			return nil, false, fmt.Errorf("line %d is no record of snapshot export --plain", n)
		}
		last := e.Marks != nil && e.Slug == "" // else it is a record, of which no mark says anything
		proven = last && marks(hex.EncodeToString(sum.Sum(nil)), e.Marks[owner])
		fmt.Fprintf(sum, "%s\n", lines.Bytes())
		if last {
			continue
		}
		if _, err := nipae.ParseSlug(e.Slug); err != nil {
			return nil, false, fmt.Errorf("line %d: %w", n, err)
		}
		if e.Owner != owner || e.Removed {
			continue
		}
		if seen[e.Slug] {
			return nil, false, fmt.Errorf("line %d: %s is there twice", n, e.Slug)
		}
		if len(out) == folder.MostFiles {
			return nil, false, folder.ErrTooMany
		}
		seen[e.Slug], out = true, append(out, e.ExportedOut)
	}
	return out, proven, lines.Err()
}

// folderMemory writes a folder's texts as mem set and mem rm do: byte for byte,
// with base, and not what says more of itself than it may, or has a secret.
type folderMemory struct {
	env   *cliutil.Env
	m     *session.Memory
	allow bool
	// proven says that the texts are the pair's own as they stand: what they say of
	// themselves is what the memory had.
	proven bool

	mu     sync.Mutex
	pace   *from.Pace
	failed error         // the first that was refused
	status client.Status // of the last write that not all relays took
}

func newFolderMemory(r *folderRun) *folderMemory {
	return &folderMemory{env: r.Env, m: r.m, allow: r.Options.Allow, pace: from.NewPace()}
}

// Set implements folder.Memory.
func (w *folderMemory) Set(ctx context.Context, slug nipae.Slug, text, base string) (client.Entry, error) {
	if err := w.turn(ctx); err != nil {
		return client.Entry{}, err
	}
	o := memory.SetOptions{Base: base, Whole: base == memory.BaseNone, Check: cliutil.Guard(w.allow)}
	if !w.proven {
		o.Check = edit.AsItStands(ctx, w.env, w.m, slug, o.Check)
	}
	e, status, err := w.m.Set(ctx, slug, text, o)
	return e, w.noted(status, cliutil.About(slug, e, err))
}

// Remove implements folder.Memory. What is gone is gone.
func (w *folderMemory) Remove(ctx context.Context, slug nipae.Slug, base string) error {
	if err := w.turn(ctx); err != nil {
		return err
	}
	_, status, err := w.m.RemoveVersion(ctx, slug, base)
	if errors.Is(err, client.ErrTombstone) {
		err = nil
	}
	return w.noted(status, err)
}

// turn waits for the next second if one is full.
func (w *folderMemory) turn(ctx context.Context) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.pace.Wrote(ctx, 1)
}

func (w *folderMemory) noted(s client.Status, err error) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.failed == nil {
		w.failed = err
	}
	taken := 0
	for _, p := range s.Published {
		if p.Accepted {
			taken++
		}
	}
	if taken < len(s.Published) || s.Partial || s.BestEffort() {
		w.status = s
	}
	return err
}
