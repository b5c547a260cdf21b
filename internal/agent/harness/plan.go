package harness

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	disk "engramd/internal/platform/files"
)

// Install says what has to change for e to stand in the harness's settings.
// Nothing changes where it stands already.
func (h Harness) Install(fsys Reader, r Roots, e Entry) (Plan, error) {
	e, err := checked(r, e)
	if err != nil {
		return Plan{}, err
	}
	plan, err := h.plan(fsys, r, e, func(f form, src []byte, exists bool) (result, error) {
		out, err := f.install(src, exists, e.Force)
		if err != nil {
			return out, err
		}
		return out, comesBack(f, src, exists, out)
	})
	if err == nil && h.notes != nil {
		plan.Notes = append(plan.Notes, h.notes(e)...)
	}
	return plan, err
}

// Remove says what has to change for nothing of ours to be left. e.Scope and
// e.Force count, the rest of e does not: whatever engramctl stands there goes.
func (h Harness) Remove(fsys Reader, r Roots, e Entry) (Plan, error) {
	e.Name, e.Allow, e.NoBuiltin = entryName, Keep, Keep
	plan, err := h.plan(fsys, r, e, func(f form, src []byte, exists bool) (result, error) {
		return f.remove(src, exists, e.Force)
	})
	if err == nil && h.left != nil && len(plan.Changes) > 0 {
		plan.Notes = h.left(fsys, r)
	}
	return plan, err
}

func (h Harness) plan(fsys Reader, r Roots, e Entry, edit func(form, []byte, bool) (result, error)) (Plan, error) {
	targets, err := h.targets(fsys, r, e)
	if err != nil {
		return Plan{}, err
	}
	var plan Plan
	for _, t := range targets {
		before, exists, err := read(fsys, t.path)
		if err != nil {
			return Plan{}, err
		}
		out, err := edit(t.form, before, exists)
		if err != nil {
			return Plan{}, fmt.Errorf("%s: %w", t.path, err)
		}
		for _, name := range out.edited {
			plan.Edited = append(plan.Edited, t.path+": "+name)
		}
		if out.exists == exists && string(out.text) == string(before) {
			continue
		}
		c := Change{Path: t.path, Before: before, Exists: exists, Mode: 0o600, Why: t.why, Folders: t.folders}
		if out.exists {
			c.After = append([]byte{}, out.text...)
		}
		plan.Changes = append(plan.Changes, c)
	}
	return plan, nil
}

// comesBack refuses an edit that could not be undone: taking ours out of the
// new document must give what taking ours out of the old one gives.
func comesBack(f form, src []byte, exists bool, out result) error {
	was, err := f.remove(src, exists, true)
	if err != nil {
		return err
	}
	now, err := f.remove(out.text, out.exists, true)
	if err != nil {
		return fmt.Errorf("our entry cannot be written here so that it can be read again: %w", err)
	}
	if was.exists != now.exists || string(was.text) != string(now.text) {
		return errors.New("our entry cannot be written into this file so that it could be taken out again byte for byte; add it by hand, as `engramctl setup generic` shows it")
	}
	return nil
}

// Check says how the harness stands beside what e would install.
func (h Harness) Check(fsys Reader, r Roots, e Entry) (Status, error) {
	s := Status{Found: h.Found(fsys, r)}
	e, err := checked(r, e)
	if err != nil {
		return s, err
	}
	targets, err := h.targets(fsys, r, e)
	if err != nil {
		return s, err
	}
	for _, t := range targets {
		src, exists, err := read(fsys, t.path)
		if err != nil {
			return s, err
		}
		in, err := t.form.look(src)
		if err != nil {
			return s, fmt.Errorf("%s: %w", t.path, err)
		}
		s.Files = append(s.Files, t.path)
		s.Present = append(s.Present, in.present...)
		s.Missing = append(s.Missing, in.missing...)
		for _, name := range in.edited {
			s.Edited = append(s.Edited, t.path+": "+name)
		}
		if in.binary != "" {
			s.Binary, s.Profile = in.binary, in.profile
		}
		s.Tools, s.Server = cmp.Or(in.tools, s.Tools), cmp.Or(in.server, s.Server)
		if len(in.present) > 0 {
			out, err := t.form.install(src, exists, false)
			if err != nil {
				return s, fmt.Errorf("%s: %w", t.path, err)
			}
			s.Outdated = s.Outdated || string(out.text) != string(src)
		}
	}
	s.Installed = len(targets) > 0 && len(s.Missing) == 0
	if h.watch != nil {
		s.Notes = h.watch(fsys, r, e)
	}
	return s, nil
}

// Tools returns what the MCP server offers that a person's settings of the
// harness start; "" if they start none, or cannot be read.
func (h Harness) Tools(fsys Reader, r Roots) (tools string) { return h.seen(fsys, r).tools }

// Installed is what our MCP server is called in the settings of a harness, by a name that
// nobody else knows; "" if in none.
func Installed(fsys Reader, r Roots) string {
	for _, h := range All() {
		if name := h.seen(fsys, r).server; name != "" && name != entryName {
			return name
		}
	}
	return ""
}

// seen is what a person's settings hold of ours, as far as they can be read.
func (h Harness) seen(fsys Reader, r Roots) (all seen) {
	targets, _ := h.targets(fsys, r, Entry{Name: entryName, Scope: User})
	for _, t := range targets {
		if src, _, err := read(fsys, t.path); err == nil {
			in, _ := t.form.look(src)
			all.tools, all.server = cmp.Or(in.tools, all.tools), cmp.Or(in.server, all.server)
		}
	}
	return all
}

// maxFile bounds what is read: Claude Code's own file grows to megabytes.
const maxFile = 64 << 20

func read(fsys Reader, path string) ([]byte, bool, error) { return readAtMost(fsys, path, maxFile) }

func readAtMost(fsys Reader, path string, most int) ([]byte, bool, error) {
	info, err := fsys.Stat(path)
	if err != nil && disk.Missing(err) {
		return nil, false, nil
	}
	if err != nil {
		return nil, false, fmt.Errorf("looking at a harness's settings: %w", err)
	}
	if !info.Mode().IsRegular() || info.Size() > int64(most) {
		return nil, false, fmt.Errorf("%s is no file of at most %d MiB: settings belong into one", path, most>>20)
	}
	src, err := fsys.ReadFile(path)
	if len(src) > most { // it says another size than it has
		err = fs.ErrInvalid
	}
	if err != nil {
		return nil, false, fmt.Errorf("reading a harness's settings: %w", err)
	}
	return src, true, nil
}

// checked fills in what was left out, and refuses what no settings can hold.
func checked(r Roots, e Entry) (Entry, error) {
	if e.Tools == "" {
		e.Tools = DefaultTools
	}
	if e.Name = cmp.Or(e.Name, entryName); !NameOK(e.Name) {
		return e, fmt.Errorf("the server's name %q is not %s and four letters or digits", e.Name, entryName+"-")
	}
	if !absolute(e.Binary) {
		return e, fmt.Errorf("engramctl's path %q is not absolute: a harness starts it from any folder", e.Binary)
	}
	if !isProgram(e.Binary) {
		return e, fmt.Errorf("the program %q is not called engramctl, and its entries could not be told from others'; rename it", e.Binary)
	}
	if e.Tools != DefaultTools && !oneTool().MatchString(e.Tools) || e.Profile != "" && !word().MatchString(e.Profile) {
		return e, fmt.Errorf("the profile %q or the tools %q hold characters that settings cannot carry; letters, digits, dot, hyphen and underscore can", e.Profile, e.Tools)
	}
	if strings.ContainsFunc(e.Binary, func(c rune) bool { return c < ' ' || c == 0x7f || c == '\ufffd' }) {
		return e, fmt.Errorf("engramctl's path %q holds control characters; move it to another folder", e.Binary)
	}
	return e, nil
}
