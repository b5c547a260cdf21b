// Package section keeps the sections of the page of benchmarks that engram-load
// does not make of its own results: what a siege has shown, which siege writes,
// how well recall finds, which a person takes from `engram-load recall`, what
// the local copy costs, from a test of internal/memory/localcopy, and what several nodes do,
// from make cluster-figures. Each has a file beside the page's plots, and is put in
// when the page is made anew.
package section

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
)

// kept is a section and the file beside a page's plots that holds its text.
type kept struct{ file, heading string }

var (
	siege  = kept{"SIEGE.md", "## Under siege\n\n"}
	recall = kept{"RECALL.md", "## Recall\n\n"}
	mirror = kept{"MIRROR.md", "## The local copy\n\n"}
	nodes  = kept{"CLUSTER.md", "## Several nodes\n\n"}
)

// Put keeps the text of a siege in a folder beside the page, named like it
// without its ending, and puts it into the page, in place of an older one or
// before the last section. A page that does not exist yet gets it when it is
// made.
func Put(path, text string) error {
	folder := strings.TrimSuffix(path, filepath.Ext(path))
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(folder, siege.file), []byte(text), 0o644); err != nil {
		return err
	}
	page, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	return os.WriteFile(path, []byte(siege.in(string(page), text)), 0o644)
}

// Keep returns the page with the sections whose texts lie in the folder.
func Keep(page, folder string) (string, error) {
	for _, k := range []kept{siege, recall, mirror, nodes} {
		text, err := os.ReadFile(filepath.Join(folder, k.file))
		switch {
		case err == nil:
			page = k.in(page, string(text))
		case !errors.Is(err, os.ErrNotExist):
			return "", err
		}
	}
	return page, nil
}

// in returns the page with the section.
func (k kept) in(page, text string) string {
	section := k.heading + strings.TrimSpace(text) + "\n\n"
	before, rest, found := strings.Cut(page, k.heading)
	if found {
		_, after, more := strings.Cut(rest, "\n## ")
		if more {
			after = "## " + after
		}
		return before + section + after
	}
	if at := strings.LastIndex(page, "\n## "); at >= 0 {
		return page[:at+1] + section + page[at+1:]
	}
	return page + "\n" + section
}
