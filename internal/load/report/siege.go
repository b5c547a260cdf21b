package report

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
)

// siegeName is the file beside a page's plots that holds what a siege has shown.
// It is measured by another program, so that a page which is made anew keeps it.
const siegeName = "SIEGE.md"

const siegeHeading = "## Under siege\n\n"

// PutSiege keeps the text of a siege beside a page's plots and puts it into the
// page, in place of an older one or before the last section. A page that does
// not exist yet gets it when it is made.
func PutSiege(path, text string) error {
	folder := strings.TrimSuffix(path, filepath.Ext(path))
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(folder, siegeName), []byte(text), 0o644); err != nil {
		return err
	}
	page, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	return os.WriteFile(path, []byte(withSiege(string(page), text)), 0o644)
}

// withSiege is the page with the section.
func withSiege(page, text string) string {
	section := siegeHeading + strings.TrimSpace(text) + "\n\n"
	before, rest, found := strings.Cut(page, siegeHeading)
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

// readSiege returns the text, "" when there is none.
func readSiege(folder string) (string, error) {
	text, err := os.ReadFile(filepath.Join(folder, siegeName))
	if errors.Is(err, os.ErrNotExist) {
		return "", nil
	}
	return string(text), err
}
