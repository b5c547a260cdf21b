package metabolism

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"engramd/internal/cli/exit"
	"engramd/internal/memory/consolidation"
	"engramd/internal/secrets"
	"engramd/nips/frontmatter"
)

// coldOut is a line of the cold file.
type coldOut struct {
	Slug       string   `json:"slug"`
	Type       string   `json:"type"`
	Content    string   `json:"content"`
	Tags       []string `json:"tags,omitempty"`
	Trust      string   `json:"trust"`
	Created    string   `json:"created_at"`
	Salience   float64  `json:"salience"`
	Uses       int64    `json:"retrieval_count"`
	Activation float64  `json:"activation"`
	Hash       string   `json:"hash"` // of the text as it is remembered
	Redacted   int      `json:"redacted,omitempty"`
	Archived   string   `json:"archived_at,omitempty"` // with --commit
}

// coldLines writes candidates as they are in the cold file: whole where it is
// encrypted, else without what looks like a secret.
func (f *options) coldLines(out io.Writer, all []candidate) error {
	enc := json.NewEncoder(out)
	enc.SetEscapeHTML(false)
	for _, c := range all {
		d := frontmatter.Parse(c.text).Fields()
		line := coldOut{Slug: c.Slug, Type: string(d.Type), Content: c.text, Tags: d.Tags, Trust: d.Trust.String(), Created: c.Created.UTC().Format(time.RFC3339),
			Salience: d.Salience, Uses: c.Uses.N, Activation: c.Activation, Hash: consolidation.Hash(c.text)}
		if f.commit {
			line.Archived = f.now.UTC().Format(time.RFC3339)
		}
		if f.recipients.Empty() {
			line.Content, line.Redacted = secrets.Redact(c.text)
			for i := range line.Tags {
				line.Tags[i], _ = secrets.Redact(line.Tags[i])
			}
		}
		if err := enc.Encode(line); err != nil {
			return err
		}
	}
	return nil
}

// writeCold writes candidates to a file that is not there.
func (f *options) writeCold(path string, all []candidate) error {
	var lines bytes.Buffer
	if err := f.coldLines(&lines, all); err != nil {
		return err
	}
	out, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, os.ErrExist) {
		return exit.Usagef("--cold: %s is there already, and is not written over", path)
	}
	if err != nil {
		return exit.BadUsage(err)
	}
	if f.recipients.Empty() {
		_, err = out.Write(lines.Bytes())
	} else {
		err = f.recipients.Encrypt(out, &lines)
	}
	if err = errors.Join(err, out.Sync(), out.Close()); err != nil {
		_ = os.Remove(path) // half of it is worse than nothing
		return fmt.Errorf("--cold: %w", err)
	}
	return nil
}
