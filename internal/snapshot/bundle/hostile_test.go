package bundle

import (
	"archive/tar"
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"
)

// crafted writes a tar as any program could.
func crafted(tb testing.TB, entries ...tar.Header) []byte {
	tb.Helper()
	var out bytes.Buffer
	tw := tar.NewWriter(&out)
	for _, h := range entries {
		if h.Typeflag == 0 {
			h.Typeflag = tar.TypeReg
		}
		if h.Mode == 0 {
			h.Mode = 0o600
		}
		if h.ModTime.IsZero() {
			h.ModTime = time.Unix(entryTime, 0)
		}
		if err := tw.WriteHeader(&h); err != nil {
			tb.Fatal(err)
		}
		if _, err := tw.Write(make([]byte, h.Size)); err != nil {
			tb.Fatal(err)
		}
	}
	if err := tw.Close(); err != nil {
		tb.Fatal(err)
	}
	return out.Bytes()
}

// prefix is a good bundle's tar up to the entry before which there is to be
// something else.
func prefix(tb testing.TB, good []byte, before string) []byte {
	tb.Helper()
	for _, r := range regions(tb, good) {
		if r.name == "header of "+before {
			return bytes.Clone(good[:r.from])
		}
	}
	tb.Fatalf("there is no %s", before)
	return nil
}

func TestUnsafeEntriesAreRefused(t *testing.T) {
	dir := t.TempDir()
	w := mustWrite(t, dir, sample(t, 1), options())
	good := unpack(t, w.Path)
	body := func(h tar.Header) []byte { return append(prefix(t, good, "heads.jsonl"), crafted(t, h)...) }
	for _, tt := range []struct {
		name string
		tar  []byte
		says string
	}{
		{"absolute", body(tar.Header{Name: "/etc/passwd"}), "absolute"},
		{"dot dot", body(tar.Header{Name: "../../heads.jsonl"}), "leads out"},
		{"dot dot inside", body(tar.Header{Name: "a/../heads.jsonl"}), "leads out"},
		{"dot", body(tar.Header{Name: "./heads.jsonl"}), "unknown"},
		{"symbolic link", body(tar.Header{Name: "heads.jsonl", Typeflag: tar.TypeSymlink, Linkname: "/etc/passwd"}), "link"},
		{"hard link", body(tar.Header{Name: "heads.jsonl", Typeflag: tar.TypeLink, Linkname: "manifest.json"}), "link"},
		{"folder", body(tar.Header{Name: "heads.jsonl/", Typeflag: tar.TypeDir}), "not a regular file"},
		{"device", body(tar.Header{Name: "heads.jsonl", Typeflag: tar.TypeChar, Devmajor: 1, Devminor: 5}), "not a regular file"},
		{"fifo", body(tar.Header{Name: "heads.jsonl", Typeflag: tar.TypeFifo}), "not a regular file"},
		{"double", body(tar.Header{Name: "manifest.json"}), "double"},
		{"unknown", body(tar.Header{Name: "notes.txt", Size: 3}), "unknown"},
		{"deep", body(tar.Header{Name: strings.Repeat("a/", 40) + "x"}), "unknown"},
		{"deeper", body(tar.Header{Name: strings.Repeat("a/", 5000) + "x"}), "not a regular file"},
		{"extended header", body(tar.Header{Name: "heads.jsonl", PAXRecords: map[string]string{"ENGRAMD.x": "y"}}), "not a regular file"},
		{"GNU format", body(tar.Header{Name: "heads.jsonl", Format: tar.FormatGNU}), "a header that"},
		{"mode", body(tar.Header{Name: "heads.jsonl", Mode: 0o4755}), "a header that"},
		{"owner", body(tar.Header{Name: "heads.jsonl", Uname: "root"}), "a header that"},
		{"time", body(tar.Header{Name: "heads.jsonl", ModTime: time.Unix(7, 0)}), "a header that"},
		{"missing", append(prefix(t, good, "contracts.jsonl"), make([]byte, 1024)...), "contracts.jsonl is missing"},
		{"one more", append(bytes.Clone(good[:len(good)-1024]), crafted(t, tar.Header{Name: "more.jsonl"})...), "unknown"},
		{"no manifest", crafted(t, tar.Header{Name: "heads.jsonl"}), "where manifest.json belongs"},
		{"empty archive", make([]byte, 1024), "empty"},
		{"no archive", []byte("hello"), "cut short"},
		{"large manifest", crafted(t, tar.Header{Name: "manifest.json", Size: maxManifest + 1}), "more than"},
		{"large signature", append(prefix(t, good, "heads.jsonl"), crafted(t, tar.Header{Name: "manifest.sig", Size: maxSignature + 1})...), "more than"},
		{"size beyond octal", append(prefix(t, good, "heads.jsonl"), hugeHeader("heads.jsonl", 10<<30)...), "beyond every bound"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			path := filepath.Join(dir, "crafted.tar.zst")
			put(t, path, compressed(t, tt.tar))
			var report *Report
			within(t, 24<<20, func() { report = mustVerify(t, path, VerifyOptions{}) })
			if c := report.Check(CheckEntries); c.State != Failed || !strings.Contains(c.Reason, tt.says) || report.OK() {
				t.Errorf("entries %s: %q, want %q in it", c.State, c.Reason, tt.says)
			}
		})
	}
}

// hugeHeader is a header whose size does not fit into octal digits.
func hugeHeader(name string, size int64) []byte {
	h := tarHeader(name, 0)
	copy(h[124:136], make([]byte, 12))
	h[124] = 0x80
	binary.BigEndian.PutUint64(h[128:136], uint64(size))
	copy(h[148:156], "        ")
	sum := 0
	for _, c := range h {
		sum += int(c)
	}
	copy(h[148:156], fmt.Sprintf("%06o\x00 ", sum))
	return h[:]
}

// within fails if fn takes more memory altogether than it may.
func within(t *testing.T, limit uint64, fn func()) {
	t.Helper()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	fn()
	runtime.ReadMemStats(&after)
	if took := after.TotalAlloc - before.TotalAlloc; took > limit {
		t.Errorf("it took %d KiB of memory, more than %d", took>>10, limit>>10)
	}
}

// zeroFrame is a zstd frame of some bytes and then zeros, 128 KiB of them in
// each 4 bytes.
func zeroFrame(windowLog int, raw []byte, zeros int64) []byte {
	out := []byte{0x28, 0xb5, 0x2f, 0xfd, 0, byte(windowLog-10) << 3}
	block := func(last bool, typ, size int, content ...byte) {
		v := uint32(size)<<3 | uint32(typ)<<1
		if last {
			v |= 1
		}
		out = append(out, byte(v), byte(v>>8), byte(v>>16))
		out = append(out, content...)
	}
	for len(raw) > 0 {
		n := min(len(raw), 64<<10)
		block(false, 0, n, raw[:n]...)
		raw = raw[n:]
	}
	for ; zeros > 0; zeros -= 128 << 10 {
		block(false, 1, 128<<10, 0)
	}
	block(true, 0, 0)
	return out
}

// TestZerosAreRefusedInBoundedMemory has a 10 GB entry of zeros in 320 kB,
// under a size that a header can say, and a manifest that declares as much.
func TestZerosAreRefusedInBoundedMemory(t *testing.T) {
	dir := t.TempDir()
	w := mustWrite(t, dir, sample(t, 1), options())
	m := *w.Manifest
	m.Artifacts = append([]Artifact{}, m.Artifacts...)
	m.Artifacts[0].Size, m.Artifacts[0].Count = 8_000_000_000, 10
	m.BundleSHA256 = m.Seal()
	manifestJSON, err := m.Encode()
	if err != nil {
		t.Fatal(err)
	}
	var head bytes.Buffer
	writeEntry(tar.NewWriter(&head), manifestName, int64(len(manifestJSON)), func(w io.Writer) error { _, err := w.Write(manifestJSON); return err })
	h := tarHeader("heads.jsonl", 8_000_000_000)
	head.Write(h[:])
	path := filepath.Join(dir, "zeros.tar.zst")
	for _, tt := range []struct {
		name    string
		content []byte
		limit   uint64
		check   string
	}{
		{"declared", zeroFrame(20, head.Bytes(), 10<<30), 48 << 20, CheckEvents},
		{"only zeros", zeroFrame(20, nil, 10<<30), 24 << 20, CheckEntries},
		{"window of 1 GiB", zeroFrame(30, head.Bytes(), 1<<20), 24 << 20, CheckCompression},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if len(tt.content) > 1<<20 {
				t.Fatalf("the file has %d bytes", len(tt.content))
			}
			put(t, path, tt.content)
			var report *Report
			within(t, tt.limit, func() { report = mustVerify(t, path, VerifyOptions{}) })
			expectFailed(t, tt.name, report, []string{tt.check})
		})
	}
}

// TestLimitsHold has more of everything than was allowed.
func TestLimitsHold(t *testing.T) {
	dir := t.TempDir()
	w := mustWrite(t, dir, sample(t, 10), options())
	r := mustVerify(t, w.Path, VerifyOptions{Limits: Limits{Events: 5}})
	if c := r.Check(CheckEvents); r.OK() || c.State != NotChecked || !strings.Contains(c.Reason, "more than 5 events") {
		t.Errorf("5 events: %+v", c)
	}
	r = mustVerify(t, w.Path, VerifyOptions{Limits: Limits{Line: 100}})
	if c := r.Check(CheckEvents); r.OK() || c.State != Failed || !strings.Contains(c.Reason, "more than 100 bytes") {
		t.Errorf("100 bytes: %+v", c)
	}
	o := options()
	o.Limits.Events = 5
	if _, err := Write(t.Context(), t.TempDir(), sample(t, 10), o); err == nil || !strings.Contains(err.Error(), ErrLimit.Error()) {
		t.Errorf("writing more than 5 events: %v", err)
	}
}
