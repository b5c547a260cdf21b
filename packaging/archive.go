package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"cmp"
	"compress/gzip"
	"crypto/sha256"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"time"
)

// file is one file of a package.
type file struct {
	name string
	mode fs.FileMode
	data []byte
}

func sorted(files []file) []file {
	files = slices.Clone(files)
	slices.SortFunc(files, func(a, b file) int { return cmp.Compare(a.name, b.name) })
	return files
}

// tarball is a .tar.gz: sorted, owned by root, everything of one time.
func tarball(files []file, at time.Time) ([]byte, error) {
	var out bytes.Buffer
	zipped := gzip.NewWriter(&out) // its header names no file and no time
	w := tar.NewWriter(zipped)
	for _, f := range sorted(files) {
		header := &tar.Header{
			Name: f.name, Mode: int64(f.mode.Perm()), Size: int64(len(f.data)),
			Typeflag: tar.TypeReg, ModTime: at, Format: tar.FormatUSTAR, Uname: "root", Gname: "root",
		}
		if err := w.WriteHeader(header); err != nil {
			return nil, err
		}
		if _, err := w.Write(f.data); err != nil {
			return nil, err
		}
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	if err := zipped.Close(); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}

// zipped is a .zip in the order given, which wheels care about.
func zipped(files []file, at time.Time) ([]byte, error) {
	var out bytes.Buffer
	w := zip.NewWriter(&out)
	for _, f := range files {
		header := &zip.FileHeader{Name: f.name, Method: zip.Deflate, Modified: at}
		header.SetMode(f.mode)
		body, err := w.CreateHeader(header)
		if err != nil {
			return nil, err
		}
		if _, err := body.Write(f.data); err != nil {
			return nil, err
		}
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}

const sumsFile = "SHA256SUMS"

// sums writes the file that sha256sum -c reads.
func (r *release) sums() {
	var out bytes.Buffer
	for _, name := range slices.Sorted(maps.Keys(r.files)) {
		fmt.Fprintf(&out, "%x  %s\n", sha256.Sum256(r.files[name]), name)
	}
	r.put(sumsFile, out.Bytes())
}
