package load

import (
	"bufio"
	"context"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"runtime"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/protocol/wire"
)

// generate writes n events to a file as JSON Lines, in order, made by create on
// all cores, and returns the file's size. each is called with every id in
// order. The file has its name only when it is whole.
func generate(ctx context.Context, path string, n int, create func(i int) (*nostr.Event, error), each func(i int, id ID)) (int64, error) {
	var size int64
	err := replaceFile(path, func(w *bufio.Writer) error {
		const chunk = 2048
		lines := make([][]byte, chunk)
		for from := 0; from < n; from += chunk {
			count := min(chunk, n-from)
			if err := generateChunk(ctx, lines[:count], from, create); err != nil {
				return err
			}
			for i, line := range lines[:count] {
				var id ID
				if _, err := hex.Decode(id[:], line[wire.IDStart:wire.IDEnd]); err != nil {
					return fmt.Errorf("id: %w", err)
				}
				each(from+i, id)
				size += int64(len(line))
				if _, err := w.Write(line); err != nil {
					return err
				}
			}
		}
		return nil
	})
	return size, err
}

func generateChunk(ctx context.Context, lines [][]byte, from int, create func(i int) (*nostr.Event, error)) error {
	workers := runtime.GOMAXPROCS(0)
	return Parallel(ctx, workers, func(ctx context.Context, worker int) error {
		for i := worker; i < len(lines); i += workers {
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			ev, err := create(from + i)
			if err != nil {
				return err
			}
			lines[i] = append(wire.AppendEvent(lines[i][:0], ev), '\n')
		}
		return nil
	})
}

// replaceFile writes a file under a temporary name, and names it when it is on
// disk.
func replaceFile(path string, write func(*bufio.Writer) error) (err error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return fmt.Errorf("cache: %w", err)
	}
	f, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".part-*")
	if err != nil {
		return fmt.Errorf("cache: %w", err)
	}
	defer func() {
		if err != nil {
			f.Close()
			os.Remove(f.Name())
			err = fmt.Errorf("write %s: %w", path, err)
		}
	}()
	w := bufio.NewWriterSize(f, 1<<20)
	if err := write(w); err != nil {
		return err
	}
	if err := w.Flush(); err != nil {
		return err
	}
	if err := f.Sync(); err != nil {
		return err
	}
	if err := f.Close(); err != nil {
		return err
	}
	return os.Rename(f.Name(), path)
}
