package folder

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"engramd/internal/client"
)

// ErrIndex means that index.md is somebody else's.
var ErrIndex = errors.New("index.md is not the one that was written here, and is left alone")

// WriteIndex writes the list of contents: each unit with a link that Obsidian
// follows, and what title says of it. It is left alone if it was changed.
func (t *Tree) WriteIndex(s *State, l *Listing, units []Unit, title func(Unit) string) error {
	units = slices.DeleteFunc(slices.Clone(units), func(u Unit) bool { return u.Removed })
	slices.SortFunc(units, func(a, b Unit) int { return cmp.Compare(a.Slug, b.Slug) })
	var b strings.Builder
	b.WriteString("# Memory\n\nWritten by engramctl; changes here are not read.\n\n")
	paths := map[string]string{}
	for p, e := range s.Files {
		paths[string(e.Slug)] = p
	}
	for _, u := range units {
		file := cmp.Or(paths[string(u.Slug)], PathOf(u.Slug))
		fmt.Fprintf(&b, "- [[%s]]", file[:len(file)-len(suffix)])
		if text := title(u); text != "" {
			b.WriteString(" " + text)
		}
		b.WriteByte('\n')
	}
	hash := client.Hash(b.String())
	switch {
	case l.index == hash:
	case l.index != "" && l.index != s.Index && l.index != s.ToIndex:
		return ErrIndex
	default:
		s.Index, s.ToIndex = l.index, hash
		if err := t.SaveState(s); err != nil {
			return err
		}
		if err := t.replace(IndexName, []byte(b.String()), &File{Path: IndexName, Hash: l.index}); err != nil {
			return fmt.Errorf("%s: %w", IndexName, err)
		}
	}
	if s.Index == hash && s.ToIndex == "" {
		return nil
	}
	s.Index, s.ToIndex = hash, ""
	return t.SaveState(s)
}
