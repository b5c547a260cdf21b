package bench

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"engramd/cmd/engram-load/internal/load"
)

// filled returns a folder of a server that holds a corpus. It is made once and
// kept in the cache, until the command line or a file that it depends on
// changes.
func (r *runner) filled(ctx context.Context, s *Server, size int) (dir string, err error) {
	key, err := fillKey(s)
	if err != nil {
		return "", err
	}
	kept := filepath.Join(r.o.Cache, "filled")
	prefix := fmt.Sprintf("%s-%d-%d-v%d-", s.Name, size, r.o.Config.Seed, load.Version)
	dir = filepath.Join(kept, prefix+key)
	if f, err := readFill(dir); err == nil {
		r.results.filled(f)
		return dir, nil
	}
	old, err := filepath.Glob(filepath.Join(kept, prefix+"*"))
	if err != nil {
		return "", err
	}
	for _, path := range old {
		if err := os.RemoveAll(path); err != nil {
			return "", err
		}
	}
	r.progress("filling %s with %d events", s.Name, size)
	f, err := r.fill(ctx, s, size, dir)
	if err != nil {
		return "", errors.Join(fmt.Errorf("filling %s: %w", s.Name, err), os.RemoveAll(dir))
	}
	r.progress("filled %s in %.0f s: %.0f events/s", s.Name, f.Seconds, float64(size)/f.Seconds)
	r.results.filled(f)
	return dir, nil
}

// fill runs the server's command in dir/data and writes dir/fill.json, which
// says that all is there.
func (r *runner) fill(ctx context.Context, s *Server, size int, dir string) (Fill, error) {
	data, file := filepath.Join(dir, "data"), load.CorpusPath(r.o.Cache, size, r.o.Config.Seed)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return Fill{}, err
	}
	parent := dir
	if _, err := os.Stat(s.FillIn); s.FillIn != "" && err == nil {
		parent = s.FillIn
	}
	work, err := os.MkdirTemp(parent, "filling-")
	if err != nil {
		return Fill{}, err
	}
	defer os.RemoveAll(work)
	start := time.Now()
	if _, err := command(ctx, argv(s.Fill, map[string]string{"data": work, "file": file})); err != nil {
		return Fill{}, err
	}
	f := Fill{Server: s.Name, Size: size, Seconds: time.Since(start).Seconds()}
	if err := copyDir(work, data); err != nil {
		return Fill{}, err
	}
	info, err := os.Stat(file)
	if err != nil {
		return Fill{}, err
	}
	f.Corpus = info.Size()
	if f.Bytes, err = diskUse(data); err != nil {
		return Fill{}, err
	}
	text, err := json.Marshal(f)
	if err != nil {
		return Fill{}, err
	}
	return f, os.WriteFile(filepath.Join(dir, "fill.json"), text, 0o600)
}

func readFill(dir string) (f Fill, err error) {
	text, err := os.ReadFile(filepath.Join(dir, "fill.json"))
	if err != nil {
		return f, err
	}
	return f, json.Unmarshal(text, &f)
}

// filled notes how long a filling took, once.
func (r *Results) filled(f Fill) {
	r.Fills = slices.DeleteFunc(r.Fills, func(old Fill) bool { return old.Server == f.Server && old.Size == f.Size })
	r.Fills = append(r.Fills, f)
}

// fillKey stands for what a filled folder depends on.
func fillKey(s *Server) (string, error) {
	h := sha256.New()
	fmt.Fprintln(h, s.Fill)
	for _, pattern := range s.Depends {
		paths, err := filepath.Glob(pattern)
		if err != nil {
			return "", err
		}
		for _, path := range paths {
			if strings.HasSuffix(path, "_test.go") {
				continue
			}
			text, err := os.ReadFile(path)
			if errors.Is(err, fs.ErrNotExist) { // gone since the pattern was read
				continue
			}
			if err != nil {
				return "", err
			}
			fmt.Fprintf(h, "%s %d\n", path, len(text))
			h.Write(text)
		}
	}
	return hex.EncodeToString(h.Sum(nil))[:12], nil
}
