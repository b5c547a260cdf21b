package edit

import (
	"bytes"
	"crypto/sha1"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"

	"github.com/bluekeyes/go-gitdiff/gitdiff"

	"engramd/internal/cli/exit"
)

// patch is a unified diff of one text.
type patch struct {
	file *gitdiff.File
}

// parsePatch reads a unified diff, as of diff -u or git diff. It is strict
// where the library is not: hunks must have the lines that they count, and
// nothing may stand after them, since a line that is left out there would be
// lost silently. Its names and modes are ignored. Errors are of usage.
func parsePatch(text string) (patch, error) {
	if err := checkHunks(text); err != nil {
		return patch{}, exit.Usagef("the patch: %w", err)
	}
	files, _, err := gitdiff.Parse(strings.NewReader(text))
	switch {
	case err != nil:
		return patch{}, exit.Usagef("the patch: %w", err)
	case len(files) != 1:
		return patch{}, exit.Usagef("the patch is for %d files, and must be for one", len(files))
	case files[0].IsBinary || files[0].BinaryFragment != nil:
		return patch{}, exit.Usagef("the patch is a binary one")
	case len(files[0].TextFragments) == 0:
		return patch{}, exit.Usagef("the patch changes nothing")
	}
	return patch{files[0]}, nil
}

// checkHunks counts the lines of every hunk.
func checkHunks(text string) error {
	lines := strings.SplitAfter(text, "\n")
	hunks := 0
	for i := 0; i < len(lines); {
		var old, new int
		if !strings.HasPrefix(lines[i], "@@ -") {
			if hunks > 0 && strings.TrimSpace(lines[i]) != "" && !strings.HasPrefix(lines[i], "diff --git ") && !strings.HasPrefix(lines[i], "--- ") {
				return fmt.Errorf("line %d is part of no hunk: the line counts in the header of the one before it are wrong", i+1)
			}
			if hunks > 0 && strings.TrimSpace(lines[i]) != "" {
				return nil // another file: that there is only one is checked elsewhere
			}
			i++
			continue
		}
		old, new, ok := hunkCounts(lines[i])
		if !ok {
			return fmt.Errorf("line %d: a hunk begins with @@ -LINE,COUNT +LINE,COUNT @@", i+1)
		}
		hunks++
		header := i + 1
		for i++; old > 0 || new > 0 || i < len(lines) && strings.HasPrefix(lines[i], `\ `); i++ {
			if i >= len(lines) || lines[i] == "" {
				return fmt.Errorf("the hunk of line %d counts more lines than it has", header)
			}
			switch lines[i][0] {
			case ' ', '\n', '\r':
				old, new = old-1, new-1
			case '-':
				old--
			case '+':
				new--
			case '\\':
			default:
				return fmt.Errorf("line %d: the hunk of line %d counts more lines than it has", i+1, header)
			}
			if old < 0 || new < 0 {
				return fmt.Errorf("line %d: the hunk of line %d counts fewer lines than it has", i+1, header)
			}
		}
	}
	if hunks == 0 {
		return errors.New("it has no hunk: want a unified diff (diff -u, git diff)")
	}
	return nil
}

// hunkCounts reads the numbers of lines in a hunk's header.
func hunkCounts(line string) (old, new int, ok bool) {
	ranges, _, found := strings.Cut(strings.TrimPrefix(line, "@@ -"), " @@")
	before, after, split := strings.Cut(ranges, " +")
	if !found || !split {
		return 0, 0, false
	}
	count := func(r string) (int, bool) {
		_, n, given := strings.Cut(r, ",")
		if !given {
			return 1, true
		}
		var v int
		_, err := fmt.Sscanf(n, "%d", &v)
		return v, err == nil && v >= 0 && v < 1<<20
	}
	old, ok1 := count(before)
	new, ok2 := count(after)
	return old, new, ok1 && ok2
}

// apply makes the new text. Every hunk must fit exactly, at the very lines it
// names; otherwise the error is errNoFit.
func (p patch) apply(text string) (string, error) {
	if p.file.IsNew && text != "" {
		return "", fmt.Errorf("%w: it makes a new file, and there is a text", exit.ErrNoFit)
	}
	lines := int64(strings.Count(text, "\n"))
	ended := text == "" || strings.HasSuffix(text, "\n")
	if !ended {
		lines++
	}
	f := *p.file
	f.TextFragments = nil
	grown := int64(0)
	for i, frag := range p.file.TextFragments {
		moved := *frag
		// A hunk without old lines names the line that it follows, one without new
		// lines the line that it follows in the new text; the library counts both
		// as if they named their own first line.
		if moved.OldLines == 0 {
			moved.OldPosition++
		}
		newPosition := moved.NewPosition
		if moved.NewLines == 0 {
			newPosition++
		}
		last := moved.OldPosition-1+moved.OldLines == lines
		switch {
		case newPosition != moved.OldPosition+grown:
			return "", fmt.Errorf("%w: hunk %d names line %d of the new text, which is line %d", exit.ErrNoFit, i+1, moved.NewPosition, moved.OldPosition+grown)
		case moved.OldLines == 0 && last && !ended:
			return "", fmt.Errorf("%w: hunk %d adds after a last line that has no end", exit.ErrNoFit, i+1)
		case unended(moved.Lines, last):
			return "", fmt.Errorf("%w: hunk %d leaves a line without an end that is not the last", exit.ErrNoFit, i+1)
		}
		grown += moved.NewLines - moved.OldLines
		f.TextFragments = append(f.TextFragments, &moved)
	}
	var out bytes.Buffer
	err := gitdiff.Apply(&out, strings.NewReader(text), &f)
	var at *gitdiff.ApplyError
	switch {
	case errors.As(err, &at) && at.FragmentLine > 0:
		return "", fmt.Errorf("%w: hunk %d, line %d of it, is not what line %d of the text is", exit.ErrNoFit, at.Fragment, at.FragmentLine, at.Line)
	case errors.As(err, &at):
		return "", fmt.Errorf("%w: hunk %d: %s", exit.ErrNoFit, at.Fragment, strings.TrimPrefix(err.Error(), "conflict: "))
	case err != nil:
		return "", fmt.Errorf("%w: %w", exit.ErrNoFit, err)
	}
	return out.String(), nil
}

// unended reports whether a new line without an end would not be the last one
// of the text.
func unended(lines []gitdiff.Line, lastHunk bool) bool {
	open := false
	for _, l := range lines {
		if !l.New() {
			continue
		}
		if open {
			return true
		}
		open = l.NoEOL()
	}
	return open && !lastHunk
}

// blob returns the beginning of the old text's id in a patch of git ("index
// 1a2b3c4..5d6e7f8"), "" if the patch names none.
func (p patch) blob() string {
	id := p.file.OldOIDPrefix
	if len(id) < 7 {
		return ""
	}
	return strings.ToLower(id)
}

// isBlob reports whether a text has that id in git.
func isBlob(text, id string) bool {
	object := fmt.Appendf(nil, "blob %d\x00%s", len(text), text)
	if len(id) > hex.EncodedLen(sha1.Size) {
		sum := sha256.Sum256(object)
		return strings.HasPrefix(hex.EncodeToString(sum[:]), id)
	}
	sum := sha1.Sum(object) // git's name for it, not a proof of anything
	return strings.HasPrefix(hex.EncodeToString(sum[:]), id)
}
