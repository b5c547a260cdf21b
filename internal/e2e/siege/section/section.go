// Package section is what a siege has shown as a section of the page of
// benchmarks: siege writes it, and engram-load, which makes that page anew from
// its own results, keeps it.
package section

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
)

// fileName is the file beside a page's plots that holds the section's text.
const fileName = "SIEGE.md"

const heading = "## Under siege\n\n"

// Put keeps the text of a siege in a folder beside the page, named like it
// without its ending, and puts it into the page, in place of an older one or
// before the last section. A page that does not exist yet gets it when it is
// made.
func Put(path, text string) error {
	folder := strings.TrimSuffix(path, filepath.Ext(path))
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(folder, fileName), []byte(text), 0o644); err != nil {
		return err
	}
	page, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	return os.WriteFile(path, []byte(with(string(page), text)), 0o644)
}

// Keep returns the page with the text that Put kept in the folder, and as it is
// when there is none.
func Keep(page, folder string) (string, error) {
	text, err := os.ReadFile(filepath.Join(folder, fileName))
	if errors.Is(err, os.ErrNotExist) {
		return page, nil
	}
	if err != nil {
		return "", err
	}
	return with(page, string(text)), nil
}

// with returns the page with the section.
func with(page, text string) string {
	section := heading + strings.TrimSpace(text) + "\n\n"
	before, rest, found := strings.Cut(page, heading)
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
