package clock

import (
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"os"
	"strings"
	"time"

	"engramd/internal/platform/files"
)

// File is the name of the anchor's file in the data folder. To lose it is safe:
// the newest arrival in the database stands in for it.
const File = "engramd.clock"

// The file is one line: a sum, and the state as JSON.
const (
	mostBytes = 4096
	mostName  = 64
	farthest  = int64(1) << 40 // of what is in it, in seconds
)

// load reads the file, and reports whether it was there and whole.
func (g *Guard) load() bool {
	if g.o.Path == "" {
		return false
	}
	s, err := read(g.o.Path)
	if err != nil {
		if !errors.Is(err, fs.ErrNotExist) {
			g.o.Log.Warn("what is known of the clock cannot be read: the newest arrival counts", "file", g.o.Path, "err", err)
		}
		return false
	}
	g.state = s
	return true
}

// Confirms reports whether the clock agrees with what a relay has noted in a file,
// for whoever works beside it or without it. Where there is none every clock does.
func Confirms(path string, now time.Time, m Machine) bool {
	s, err := read(path)
	if err != nil {
		return errors.Is(err, fs.ErrNotExist)
	}
	g := New(Options{Now: func() time.Time { return now }, Machine: m})
	g.state, g.opened, g.counted = s, true, g.now().Lasted
	return g.Confirmed()
}

func read(path string) (state, error) {
	f, err := os.Open(path)
	if err != nil {
		return state{}, err
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, mostBytes))
	if err != nil {
		return state{}, err
	}
	return parse(string(b))
}

func parse(line string) (s state, err error) {
	sum, body, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
	if sum != sumOf(body) {
		return s, errors.New("it is not as it was written")
	}
	if err := json.Unmarshal([]byte(body), &s); err != nil {
		return state{}, err
	}
	for _, n := range []int64{s.Anchor.Clock, s.Anchor.Lasted, s.Newest, s.Hours, s.point().Clock, s.point().Lasted} {
		if n < 0 || n > farthest {
			return state{}, errors.New("it holds a time that is none")
		}
	}
	if len(s.Anchor.Boot) > mostName || len(s.point().Boot) > mostName {
		return state{}, errors.New("it holds a name that is none")
	}
	return s, nil
}

// point is the clock that is not believed, or nothing.
func (s *state) point() point {
	if s.Doubted == nil {
		return point{}
	}
	return *s.Doubted
}

func sumOf(body string) string { return fmt.Sprintf("%08x", crc32.ChecksumIEEE([]byte(body))) }

// save writes the file. Where that fails, the clock is judged all the same.
func (g *Guard) save() {
	g.written = g.now().Lasted
	if g.o.Path == "" {
		return
	}
	err := write(g.o.Path, &g.state)
	if err != nil && !g.unsaved {
		g.o.Log.Warn("what is known of the clock cannot be kept", "file", g.o.Path, "err", err)
	}
	g.unsaved = err != nil
}

func write(path string, s *state) error {
	body, err := json.Marshal(s)
	if err != nil {
		return err
	}
	return files.Replace(path, []byte(sumOf(string(body))+" "+string(body)+"\n"))
}
