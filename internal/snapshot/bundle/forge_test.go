package bundle

import (
	"archive/tar"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"path/filepath"
	"strings"
	"testing"
)

// TestResealedForgeriesAreFound changes an event and makes everything around it
// right again, as only somebody could who makes bundles.
func TestResealedForgeriesAreFound(t *testing.T) {
	first := func(lines []string, change func(string) string) []string {
		out := append([]string{}, lines...)
		out[0] = change(out[0])
		return out
	}
	for _, tt := range []struct {
		name   string
		change func(files map[string][]string, m *Manifest)
		check  string
	}{
		{"signature", func(f map[string][]string, _ *Manifest) {
			f["heads"] = first(f["heads"], func(s string) string { return s[:len(s)-3] + flipHex(s[len(s)-3]) + s[len(s)-2:] })
		}, CheckEvents},
		{"content", func(f map[string][]string, _ *Manifest) {
			f["relays"] = first(f["relays"], func(s string) string { return strings.Replace(s, "relay.example", "relay.invalid", 1) })
		}, CheckEvents},
		{"spaces", func(f map[string][]string, _ *Manifest) {
			f["relays"] = first(f["relays"], func(s string) string { return s + " " })
		}, CheckOrder},
		{"order", func(f map[string][]string, _ *Manifest) { f["heads"][0], f["heads"][1] = f["heads"][1], f["heads"][0] }, CheckOrder},
		{"duplicate", func(f map[string][]string, _ *Manifest) { f["heads"] = append(f["heads"][:1:1], f["heads"]...) }, CheckOrder},
		{"old head", func(f map[string][]string, _ *Manifest) { f["heads"], f["history"] = swapOld(f["heads"], f["history"]) }, CheckHeads},
		{"two heads", func(f map[string][]string, _ *Manifest) {
			f["heads"] = insertSorted(f["heads"], f["history"][0])
			f["history"] = f["history"][1:]
		}, CheckHeads},
		{"missing head", func(f map[string][]string, _ *Manifest) { f["heads"] = f["heads"][1:] }, CheckRoot},
		{"class", func(f map[string][]string, _ *Manifest) { f["deletions"], f["relays"] = f["relays"], f["deletions"] }, CheckDeclared},
		{"agent", func(_ map[string][]string, m *Manifest) { m.Agent = otherKey }, CheckDeclared},
		{"owner", func(_ map[string][]string, m *Manifest) { m.Owners = []string{otherKey} }, CheckDeclared},
		{"one more owner", func(_ map[string][]string, m *Manifest) { m.Owners = append(m.Owners, otherKey) }, CheckDeclared},
		{"no event", func(f map[string][]string, _ *Manifest) { f["heads"] = append(f["heads"], "{}") }, CheckEvents},
		{"empty line", func(f map[string][]string, _ *Manifest) { f["history"] = append(f["history"], "") }, CheckEvents},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := mustWrite(t, t.TempDir(), sample(t, 3), options())
			files := map[string][]string{}
			for kind, body := range artifactsOf(t, w.Path) {
				files[kind] = strings.Split(strings.TrimSuffix(body, "\n"), "\n")
			}
			m := *w.Manifest
			m.Owners = append([]string{}, m.Owners...)
			tt.change(files, &m)
			path := reseal(t, t.TempDir(), &m, files)
			report := mustVerify(t, path, VerifyOptions{})
			expectFailed(t, tt.name, report, []string{tt.check})
			for _, name := range []string{CheckFileHash, CheckManifest, CheckSeal, CheckBundleID, "artifact heads.jsonl"} {
				if c := report.Check(name); c.State != OK {
					t.Errorf("%s: %+v", name, c)
				}
			}
		})
	}
}

func flipHex(c byte) string {
	if c == '0' {
		return "1"
	}
	return "0"
}

// swapOld exchanges the first superseded version with its head.
func swapOld(heads, history []string) ([]string, []string) {
	d := func(s string) string { i := strings.Index(s, `[["d","`); return s[i : i+71] }
	for i, h := range heads {
		if d(h) == d(history[0]) {
			heads, history = append([]string{}, heads...), append([]string{}, history...)
			heads[i], history[0] = history[0], heads[i]
			return heads, history
		}
	}
	return heads, history
}

// insertSorted puts a line where the format wants it.
func insertSorted(lines []string, line string) []string {
	key := func(s string) string {
		r, err := parseRecord([]byte(s))
		if err != nil {
			return ""
		}
		return string(r.appendKey(nil))
	}
	i := 0
	for i < len(lines) && key(lines[i]) < key(line) {
		i++
	}
	return append(append(append([]string{}, lines[:i]...), line), lines[i:]...)
}

// artifactsOf returns the artifacts of a bundle by kind.
func artifactsOf(tb testing.TB, path string) map[string]string {
	tb.Helper()
	files := map[string]string{}
	tr := tar.NewReader(bytes.NewReader(unpack(tb, path)))
	for {
		h, err := tr.Next()
		if errors.Is(err, io.EOF) {
			return files
		}
		if err != nil {
			tb.Fatal(err)
		}
		b, err := io.ReadAll(tr)
		if err != nil {
			tb.Fatal(err)
		}
		if kind, ok := strings.CutSuffix(h.Name, ".jsonl"); ok {
			files[kind] = string(b)
		}
	}
}

// reseal makes a bundle of these lines with true hashes, counts and seal, but
// the root of the manifest as it is.
func reseal(tb testing.TB, dir string, m *Manifest, files map[string][]string) string {
	tb.Helper()
	m.Artifacts = nil
	bodies := map[string]string{}
	for _, kind := range artifactKinds(m.Incremental()) {
		body := ""
		for _, line := range files[kind] {
			body += line + "\n"
		}
		bodies[kind] = body
		sum := sha256.Sum256([]byte(body))
		m.Artifacts = append(m.Artifacts, Artifact{Path: kind + ".jsonl", Kind: kind, Count: int64(len(files[kind])),
			Size: int64(len(body)), SHA256: hex.EncodeToString(sum[:])})
	}
	m.BundleSHA256 = m.Seal()
	manifestJSON, err := m.Encode()
	if err != nil {
		tb.Fatal(err)
	}
	var out bytes.Buffer
	text := func(s string) func(io.Writer) error {
		return func(w io.Writer) error { _, err := io.WriteString(w, s); return err }
	}
	w := tar.NewWriter(&out)
	writeEntry(w, manifestName, int64(len(manifestJSON)), text(string(manifestJSON)))
	for _, a := range m.Artifacts {
		writeEntry(w, a.Path, a.Size, text(bodies[a.Kind]))
	}
	w.Close()
	path := filepath.Join(dir, FileName(ManifestID(m.CreatedAt, manifestJSON), false))
	put(tb, path, compressed(tb, out.Bytes()))
	return path
}
