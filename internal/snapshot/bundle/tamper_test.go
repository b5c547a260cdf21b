package bundle

import (
	"archive/tar"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"testing"
)

// unpack returns the tar of an unencrypted bundle.
func unpack(tb testing.TB, path string) []byte {
	tb.Helper()
	f, err := os.Open(path)
	if err != nil {
		tb.Fatal(err)
	}
	defer f.Close()
	zr, err := newDecompressor(f)
	if err != nil {
		tb.Fatal(err)
	}
	defer zr.Close()
	b, err := io.ReadAll(zr)
	if err != nil {
		tb.Fatal(err)
	}
	return b
}

// compressed is what a bundle with this tar is.
func compressed(tb testing.TB, tarBytes []byte) []byte {
	tb.Helper()
	var out bytes.Buffer
	zw, err := newCompressor(&out)
	if err != nil {
		tb.Fatal(err)
	}
	zw.Write(tarBytes)
	if err := zw.Close(); err != nil {
		tb.Fatal(err)
	}
	return out.Bytes()
}

// put writes a file with a true .sha256 sibling, so that what is wrong inside
// must be found inside.
func put(tb testing.TB, path string, b []byte) {
	tb.Helper()
	sum := sha256.Sum256(b)
	line := hex.EncodeToString(sum[:]) + "  " + filepath.Base(path) + "\n"
	for p, content := range map[string][]byte{path: b, path + SumExtension: []byte(line)} {
		if err := os.WriteFile(p, content, 0o600); err != nil {
			tb.Fatal(err)
		}
	}
}

// region is a part of the tar with the checks of which at least one must fail
// when a byte in it does not hold.
type region struct {
	name     string
	from, to int
	checks   []string
}

// regions cuts a bundle's tar into its parts.
func regions(tb testing.TB, b []byte) []region {
	tb.Helper()
	var list []region
	in := bytes.NewReader(b)
	tr := tar.NewReader(in)
	for {
		h, err := tr.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			tb.Fatal(err)
		}
		start := len(b) - in.Len()
		checks := []string{"artifact " + h.Name}
		switch h.Name {
		case manifestName:
			checks = []string{CheckManifest, CheckBundleID}
		case signatureName:
			checks = []string{CheckSignature}
		}
		list = append(list, region{"header of " + h.Name, start - blockSize, start, []string{CheckEntries}})
		if h.Size > 0 {
			list = append(list, region{h.Name, start, start + int(h.Size), checks})
		}
		if pad := int(-h.Size & (blockSize - 1)); pad > 0 {
			list = append(list, region{"padding of " + h.Name, start + int(h.Size), start + int(h.Size) + pad, []string{CheckEntries}})
		}
	}
	return append(list, region{"end", len(b) - 2*blockSize, len(b), []string{CheckEntries}})
}

func signedOptions(tb testing.TB) Options {
	tb.Helper()
	o := options()
	var err error
	if o.Sign, err = NewSigner(agentSecret); err != nil {
		tb.Fatal(err)
	}
	return o
}

// TestEveryFlippedByteIsNamed flips bytes of the tar in every region and makes
// the container and the sibling right again.
func TestEveryFlippedByteIsNamed(t *testing.T) {
	dir := t.TempDir()
	w := mustWrite(t, dir, sample(t, 1), signedOptions(t))
	good := unpack(t, w.Path)
	end := 0
	for _, r := range regions(t, good) {
		if r.from != end {
			t.Fatalf("%s begins at %d, the region before ends at %d", r.name, r.from, end)
		}
		end = r.to
		samples := 60 // of each region
		if testing.Short() {
			samples = 8
		}
		step := max(1, (r.to-r.from)/samples)
		for i := r.from; i < r.to; i += step {
			bad := bytes.Clone(good)
			bad[i] ^= 1 << (i % 8)
			put(t, w.Path, compressed(t, bad))
			report := mustVerify(t, w.Path, VerifyOptions{Signers: []string{agentKey}})
			expectFailed(t, fmt.Sprintf("byte %d, %s", i, r.name), report, r.checks)
		}
	}
	if end != len(good) {
		t.Fatalf("the regions end at %d of %d bytes", end, len(good))
	}
}

func expectFailed(t *testing.T, what string, report *Report, checks []string) {
	t.Helper()
	if report.OK() {
		t.Errorf("%s: the report is OK", what)
	}
	for _, name := range checks {
		if report.Check(name).State == Failed {
			return
		}
	}
	var text bytes.Buffer
	report.WriteText(&text)
	t.Errorf("%s: none of %q failed:\n%s", what, checks, text.String())
}

func TestCutAndAddedBytesAreFound(t *testing.T) {
	if testing.Short() {
		t.Skip("one goroutine asks much")
	}
	dir := t.TempDir()
	w := mustWrite(t, dir, sample(t, 1), signedOptions(t))
	good := unpack(t, w.Path)
	for _, r := range regions(t, good) {
		for _, at := range []int{r.from, (r.from + r.to) / 2, r.to - 1} {
			put(t, w.Path, compressed(t, good[:at]))
			expectFailed(t, fmt.Sprintf("cut off at %d, %s", at, r.name), mustVerify(t, w.Path, VerifyOptions{}),
				append([]string{CheckEntries}, r.checks...))

			put(t, w.Path, compressed(t, append(bytes.Clone(good[:at]), good[at+1:]...)))
			expectFailed(t, fmt.Sprintf("byte %d left out, %s", at, r.name), mustVerify(t, w.Path, VerifyOptions{}),
				append([]string{CheckEntries}, r.checks...))

			put(t, w.Path, compressed(t, append(append(bytes.Clone(good[:at]), 'x'), good[at:]...)))
			expectFailed(t, fmt.Sprintf("byte added at %d, %s", at, r.name), mustVerify(t, w.Path, VerifyOptions{}),
				append([]string{CheckEntries}, r.checks...))
		}
	}
	put(t, w.Path, compressed(t, append(bytes.Clone(good), 0)))
	expectFailed(t, "a byte behind the end", mustVerify(t, w.Path, VerifyOptions{}), []string{CheckEntries})
}

// TestFileHashFindsEveryByte changes the file and leaves its sibling.
func TestFileHashFindsEveryByte(t *testing.T) {
	dir := t.TempDir()
	w := mustWrite(t, dir, sample(t, 1), signedOptions(t))
	good, err := os.ReadFile(w.Path)
	if err != nil {
		t.Fatal(err)
	}
	check := func(what string, b []byte) {
		if err := os.WriteFile(w.Path, b, 0o600); err != nil {
			t.Fatal(err)
		}
		expectFailed(t, what, mustVerify(t, w.Path, VerifyOptions{}), []string{CheckFileHash})
	}
	for i := 0; i < len(good); i += 53 {
		bad := bytes.Clone(good)
		bad[i] ^= 0x10
		check(fmt.Sprintf("byte %d", i), bad)
	}
	check("cut", good[:len(good)-1])
	check("added", append(bytes.Clone(good), 0))
	check("empty", nil)
}

func TestSiblingIsChecked(t *testing.T) {
	dir := t.TempDir()
	w := mustWrite(t, dir, sample(t, 1), options())
	sum := w.Path + SumExtension
	good, err := os.ReadFile(sum)
	if err != nil {
		t.Fatal(err)
	}
	for i := range good {
		bad := bytes.Clone(good)
		bad[i] ^= 1
		if err := os.WriteFile(sum, bad, 0o600); err != nil {
			t.Fatal(err)
		}
		expectFailed(t, fmt.Sprintf("sibling byte %d", i), mustVerify(t, w.Path, VerifyOptions{}), []string{CheckFileHash})
	}
	for what, b := range map[string][]byte{"cut": good[:len(good)-1], "added": append(bytes.Clone(good), '\n'), "empty": nil} {
		if err := os.WriteFile(sum, b, 0o600); err != nil {
			t.Fatal(err)
		}
		expectFailed(t, "sibling "+what, mustVerify(t, w.Path, VerifyOptions{}), []string{CheckFileHash})
	}
	if err := os.Remove(sum); err != nil {
		t.Fatal(err)
	}
	r := mustVerify(t, w.Path, VerifyOptions{})
	if c := r.Check(CheckFileHash); c.State != NotChecked || r.OK() {
		t.Errorf("without a sibling: %+v, OK %v", c, r.OK())
	}
}

func TestDamagedCompressionIsNamed(t *testing.T) {
	dir := t.TempDir()
	w := mustWrite(t, dir, sample(t, 1), options())
	good, err := os.ReadFile(w.Path)
	if err != nil {
		t.Fatal(err)
	}
	bad := bytes.Clone(good)
	bad[len(bad)-1] ^= 1 // of the checksum
	put(t, w.Path, bad)
	expectFailed(t, "checksum", mustVerify(t, w.Path, VerifyOptions{}), []string{CheckCompression})
	put(t, w.Path, good[:len(good)-1])
	expectFailed(t, "cut", mustVerify(t, w.Path, VerifyOptions{}), []string{CheckCompression})
	bad = bytes.Clone(good)
	bad[0] ^= 1
	put(t, w.Path, bad)
	expectFailed(t, "magic", mustVerify(t, w.Path, VerifyOptions{}), []string{CheckCompression})
}
