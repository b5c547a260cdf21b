package bundle

import (
	"archive/tar"
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"os"
	"path/filepath"

	"filippo.io/age"

	"engramd/internal/platform/files"
)

// Names of the files in the staging folder.
const outName, sumName = "bundle", "sum"

// pack writes the file, and reads what goes into it again on the way.
func (w *writer) pack(ctx context.Context, out *Written, manifestJSON []byte) (err error) {
	f, err := os.OpenFile(w.staging.Path(outName), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return fmt.Errorf("write snapshot: %w", err)
	}
	defer f.Close()
	sum := &summer{h: sha256.New()}
	var sink io.Writer = io.MultiWriter(f, sum)
	var closers []io.Closer
	if out.Encrypted {
		enc, err := age.Encrypt(sink, w.o.Recipients.keys...)
		if err != nil {
			return fmt.Errorf("encrypt: %w", err)
		}
		sink, closers = enc, append(closers, enc)
	}

	pr, pw := io.Pipe()
	reread := make(chan *Report, 1)
	go func() {
		report, err := verifyWritten(ctx, pr, w.o, out.ID)
		pr.CloseWithError(err) // a reader that ends early must not hold up the writer
		reread <- report
	}()
	err = w.compress(io.MultiWriter(sink, pw), manifestJSON)
	pw.CloseWithError(err)
	out.Report = <-reread
	for _, c := range closers {
		err = errors.Join(err, c.Close())
	}
	if err = errors.Join(err, f.Sync()); err != nil {
		return fmt.Errorf("write snapshot: %w", err)
	}
	out.SHA256, out.Size = hex.EncodeToString(sum.h.Sum(nil)), sum.n
	out.Report.Path, out.Report.Size, out.Report.SHA256, out.Report.Encrypted = out.Path, out.Size, out.SHA256, out.Encrypted
	return out.Report.Err()
}

// compress writes the compressed tar.
func (w *writer) compress(dst io.Writer, manifestJSON []byte) error {
	zw, err := newCompressor(dst)
	if err != nil {
		return err
	}
	bw := bufio.NewWriterSize(zw, 128<<10) // so that blocks do not depend on how we write
	if err := w.archive(bw, manifestJSON); err != nil {
		zw.Close()
		return err
	}
	return errors.Join(bw.Flush(), zw.Close())
}

func (w *writer) archive(out io.Writer, manifestJSON []byte) error {
	dst := tar.NewWriter(out)
	whole := func(b []byte) func(io.Writer) error {
		return func(w io.Writer) error { _, err := w.Write(b); return err }
	}
	if err := writeEntry(dst, manifestName, int64(len(manifestJSON)), whole(manifestJSON)); err != nil {
		return err
	}
	if w.o.Sign != nil {
		sig, err := signManifest(w.o.Sign, w.manifest, manifestJSON)
		if err != nil {
			return err
		}
		if err := writeEntry(dst, signatureName, int64(len(sig)), whole(sig)); err != nil {
			return err
		}
	}
	for _, a := range w.manifest.Artifacts {
		err := writeEntry(dst, a.Path, a.Size, func(dst io.Writer) error {
			return w.lines(a.Kind, func(line []byte) error {
				dst.Write(line)
				_, err := dst.Write([]byte{'\n'})
				return err
			})
		})
		if err != nil {
			return err
		}
	}
	return dst.Close()
}

// publish moves bundle and hash to their places, the hash first: a bundle is
// never without.
func (w *writer) publish(dir string, out *Written) error {
	line := out.SHA256 + "  " + filepath.Base(out.Path) + "\n"
	if err := writeSynced(w.staging.Path(sumName), []byte(line)); err != nil {
		return err
	}
	sumPath := out.Path + SumExtension
	if err := os.Rename(w.staging.Path(sumName), sumPath); err != nil {
		return fmt.Errorf("write snapshot: %w", err)
	}
	if err := os.Rename(w.staging.Path(outName), out.Path); err != nil {
		os.Remove(sumPath)
		return fmt.Errorf("write snapshot: %w", err)
	}
	return files.SyncDir(dir)
}

func writeSynced(path string, b []byte) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return fmt.Errorf("write snapshot: %w", err)
	}
	_, err = f.Write(b)
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return fmt.Errorf("write snapshot: %w", err)
	}
	return nil
}

// summer is the hash and size of what is written to it, and how many lines that
// has.
type summer struct {
	h        hash.Hash
	n, lines int64
}

func (s *summer) Write(p []byte) (int, error) {
	s.n += int64(len(p))
	s.lines += int64(bytes.Count(p, []byte{'\n'}))
	return s.h.Write(p)
}
