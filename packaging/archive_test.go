package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"debug/buildinfo"
	"errors"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

var someTime = time.Unix(1_700_000_000, 0).UTC()

// TestArchivesAreTheSame: the order in which files come, and when, is not in an
// archive.
func TestArchivesAreTheSame(t *testing.T) {
	files := []file{{"b/two", 0o644, []byte("2")}, {"a", 0o755, []byte("1")}, {"c", 0o644, nil}}
	first, err := tarball(files, someTime)
	if err != nil {
		t.Fatal(err)
	}
	slices.Reverse(files)
	second, err := tarball(files, someTime)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(first, second) {
		t.Error("the order of files is in the tarball")
	}
	unzipped, err := gzip.NewReader(bytes.NewReader(first))
	if err != nil {
		t.Fatal(err)
	}
	r := tar.NewReader(unzipped)
	var names []string
	for {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		names = append(names, h.Name)
		if h.Uid != 0 || h.Gid != 0 || h.Uname != "root" || !h.ModTime.Equal(someTime) {
			t.Errorf("%s: uid %d, gid %d, %s, %s", h.Name, h.Uid, h.Gid, h.Uname, h.ModTime)
		}
	}
	if !slices.Equal(names, []string{"a", "b/two", "c"}) {
		t.Errorf("the order is %v", names)
	}
	one, err := zipped(files, someTime)
	if err != nil {
		t.Fatal(err)
	}
	two, err := zipped(files, someTime.In(time.FixedZone("east", 3600)).UTC())
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(one, two) {
		t.Error("two zips of the same files differ")
	}
}

// TestWriteRemovesOnlyItsOwn: a folder that packaging did not fill is left.
func TestWriteRemovesOnlyItsOwn(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "dist")
	if err := writeFile(filepath.Join(folder, "thesis.txt"), []byte("years"), 0o644); err != nil {
		t.Fatal(err)
	}
	r := &release{folder: folder, files: map[string][]byte{"a": []byte("1")}}
	r.sums()
	if err := r.write(); err == nil {
		t.Fatal("wrote into a folder of somebody else")
	}
	if _, err := os.Stat(filepath.Join(folder, "thesis.txt")); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(filepath.Join(folder, "thesis.txt")); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"a", "b"} {
		r := &release{folder: folder, files: map[string][]byte{name: []byte("1")}}
		r.sums()
		if err := r.write(); err != nil {
			t.Fatal(err)
		}
	}
	entries, err := os.ReadDir(folder)
	if err != nil || len(entries) != 2 || entries[0].Name() != sumsFile || entries[1].Name() != "b" {
		t.Errorf("the folder has %v, %v: want the last run's files alone", entries, err)
	}
}

// TestProgramsAreChecked: what is no release build does not get into a package.
func TestProgramsAreChecked(t *testing.T) {
	folder := t.TempDir()
	if _, err := readPrograms(folder, clientPlatforms); err == nil {
		t.Error("a folder without programs passes")
	}
	self, err := os.Executable() // a test: neither -trimpath nor CGO_ENABLED=0
	if err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(self)
	if err != nil {
		t.Fatal(err)
	}
	if err := writeFile(filepath.Join(folder, "engramctl-linux-amd64"), data, 0o755); err != nil {
		t.Fatal(err)
	}
	if _, err := readPrograms(folder, clientPlatforms); err == nil {
		t.Error("a program that was built in another way passes")
	}
	if err := writeFile(filepath.Join(folder, "engramctl-linux-amd64"), []byte("#!/bin/sh\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	if _, err := readPrograms(folder, clientPlatforms); err == nil {
		t.Error("a script passes as a program")
	}
}

// TestDebsAlone: of the programs of one platform come two Debian packages with their
// sums, and nothing else.
func TestDebsAlone(t *testing.T) {
	r := &release{version: Version{Deb: "1.2.3"}, time: time.Unix(1, 0).UTC(), modules: t.TempDir(), files: map[string][]byte{}}
	for _, name := range []string{"engramctl", "engramd"} {
		r.programs = append(r.programs, program{name: name, os: "linux", arch: "amd64", data: []byte("program"), info: &buildinfo.BuildInfo{}})
	}
	if err := r.makeDebs(); err != nil {
		t.Fatal(err)
	}
	want := []string{sumsFile, "engramctl_1.2.3_amd64.deb", "engramd_1.2.3_amd64.deb"}
	if got := slices.Sorted(maps.Keys(r.files)); !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
	if sums := string(r.files[sumsFile]); !strings.Contains(sums, want[1]) || !strings.Contains(sums, want[2]) {
		t.Errorf("the sums name %q", sums)
	}
}
