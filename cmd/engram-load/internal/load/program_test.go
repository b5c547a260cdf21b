package load

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestWords(t *testing.T) {
	for line, want := range map[string][]string{
		"bin/engramd import --data {data} {file}": {"bin/engramd", "import", "--data", "/d d", "/f"},
		"  a\t'b c' \"d'e\" '' f'g h'i ":          {"a", "b c", "d'e", "", "fg hi"},
		"sh -c 'cat {file} >{data}/x'":            {"sh", "-c", "cat /f >/d d/x"},
	} {
		got, err := program{line: line, data: "/d d", file: "/f"}.words()
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("%q: %q, %v", line, got, err)
		}
	}
	for _, line := range []string{"", "  ", "a 'b", `a "b'`} {
		if got, err := (program{line: line}).words(); !errors.Is(err, ErrOptions) {
			t.Errorf("%q: %q, %v", line, got, err)
		}
	}
}

func TestTailIsBounded(t *testing.T) {
	done, err := program{line: `sh -c 'i=0; while [ $i -lt 9000 ]; do echo "line $i"; i=$((i+1)); done; echo end >&2'`}.run(context.Background(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if len(done.tail) > 2*maxTail || !strings.Contains(done.tail, "line 8999\n") || strings.Contains(done.tail, "line 1\n") {
		t.Errorf("%d bytes are kept", len(done.tail))
	}
}

func TestProgramEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithTimeoutCause(context.Background(), 50*time.Millisecond, ErrTimeout)
	defer cancel()
	if _, err := (program{line: "sleep 60"}).run(ctx, nil); !errors.Is(err, ErrTimeout) {
		t.Errorf("got %v", err)
	}
}

// The peak is the program's, even when the process that starts it was larger.
func TestPeakIsTheProgramsOwn(t *testing.T) {
	large := make([]byte, 128<<20)
	for i := 0; i < len(large); i += 4096 {
		large[i] = 1
	}
	done, err := program{line: "sleep 0.2"}.run(context.Background(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if peak := done.usage.RSSPeak; peak <= 0 || peak > 64<<10 {
		t.Errorf("sleep took %d KiB", peak)
	}
	runtime.KeepAlive(large)
}

// storing is a command that keeps the file and says so.
const storing = `sh -c 'cp {file} {data}/events; echo "$(wc -l <{file}) lines: $(wc -l <{file}) stored, 0 skipped"'`

func TestImport(t *testing.T) {
	cache := t.TempDir()
	tests := []struct {
		name, exec, check string
		want              error
	}{
		{"says the number", storing, "", nil},
		{"says events", `sh -c 'cp {file} {data}; echo "load: 7 events, 3/s"; echo "load: $(wc -l <{file}) events, 5/s" >&2'`, "", nil},
		{"is checked", `cp {file} {data}/events`, `cat {data}/events`, nil},
		{"is checked in another order", `cp {file} {data}/events`, `tac {data}/events`, nil},
		{"says too few", `sh -c 'echo 99 stored >&2; ls {data} {file}'`, "", ErrWrong},
		{"says nothing", `cp {file} {data}`, "", ErrOptions},
		{"says other numbers", `sh -c 'ls {file} {data}; echo 100 lines'`, "", ErrOptions},
		{"fails", `sh -c 'ls {data} {file}; echo 100 stored; exit 3'`, "", errAny},
		{"is not there", "/nonexistent {data} {file}", "", ErrOptions},
		{"without the file", "true {data}", "", ErrOptions},
		{"without the folder", "true {file}", "", ErrOptions},
		{"lost one", `sh -c 'tail -n +2 {file} >{data}/events'`, `cat {data}/events`, ErrWrong},
		{"lost all", `true {file} {data}`, `true`, ErrWrong},
		{"has one twice", `sh -c 'head -n 99 {file} >{data}/events; head -n 1 {file} >>{data}/events'`, `cat {data}/events`, ErrWrong},
		{"has a foreign one", storing, `sed 's/"id":"...../"id":"00000/' {data}/events`, ErrWrong},
		{"prints no events", storing, `echo nothing`, ErrProtocol},
		{"the check fails", storing, `sh -c 'cat {data}/events; exit 1'`, errAny},
		{"the check prints without end", storing, `yes`, ErrProtocol},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r, err := mustFind(t, "import").Run(context.Background(), Target{}, Options{
				Count: 100, Seed: testSeed, Cache: cache, Exec: tt.exec, Check: tt.check,
			})
			if !errors.Is(err, tt.want) && (tt.want != errAny || err == nil) {
				t.Fatalf("got %v, want %v", err, tt.want)
			}
			if err == nil && (r.Count != 100 || r.Seconds <= 0 || r.RSSPeak <= 0 || r.Extra["bytes_per_event"] < 400) {
				t.Errorf("%+v", r)
			}
			if left, _ := filepath.Glob(filepath.Join(cache, "data-*")); len(left) > 0 {
				t.Errorf("%v is left", left)
			}
		})
	}
}

var errAny = errors.New("any error")

func TestDisk(t *testing.T) {
	cache := t.TempDir()
	r, err := mustFind(t, "disk").Run(context.Background(), Target{}, Options{
		Count: 1000, Seed: testSeed, Cache: cache, Exec: `cp {file} {data}/events`, Check: "cat {data}/events",
	})
	if err != nil {
		t.Fatal(err)
	}
	if r.Count != 3000 || r.Rate < 500 {
		t.Errorf("%+v", r)
	}
	for _, name := range []string{"notes", "tagged", "engrams"} {
		// The copy has the events' JSON and the ends of lines, in whole blocks.
		json, length := r.Extra[name+"_json_per_event"], r.Extra[name+"_length_per_event"]
		if length != json+1 || r.Extra[name+"_ratio"] < 1 || r.Extra[name+"_ratio"] > 1.1 {
			t.Errorf("%s: %v", name, r.Extra)
		}
	}
	_, err = mustFind(t, "disk").Run(context.Background(), Target{}, Options{
		Count: 1000, Seed: testSeed, Cache: cache, Exec: `cp {file} {data}/events`, Check: "head -n 999 {data}/events",
	})
	if !errors.Is(err, ErrWrong) {
		t.Errorf("got %v", err)
	}
}

func TestDiskUse(t *testing.T) {
	dir := t.TempDir()
	if err := os.MkdirAll(filepath.Join(dir, "a", "b"), 0o700); err != nil {
		t.Fatal(err)
	}
	text := make([]byte, 10_000)
	for i := range text {
		text[i] = byte(i)
	}
	if err := os.WriteFile(filepath.Join(dir, "a", "b", "c"), text, 0o600); err != nil {
		t.Fatal(err)
	}
	hole, err := os.Create(filepath.Join(dir, "hole"))
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(hole.Truncate(1<<20), hole.Close()); err != nil {
		t.Fatal(err)
	}
	used, length, err := DiskUse(dir)
	if err != nil || length != 10_000+1<<20 || used < 10_000 || used >= 1<<20 {
		t.Errorf("%d used, %d long, %v", used, length, err)
	}
	if _, _, err := DiskUse(filepath.Join(dir, "none")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("nothing: %v", err)
	}
}

func FuzzLineID(f *testing.F) {
	f.Add([]byte(`{"id":"` + strings.Repeat("a", 64) + `","kind":1}`))
	f.Add([]byte(`{"id":"` + strings.Repeat("z", 64) + `"} `))
	f.Add([]byte(`{"id":"\""`))
	f.Fuzz(func(t *testing.T, line []byte) {
		id, err := lineID(line)
		if err == nil && !strings.Contains(strings.ToLower(string(line)), id.Hex()) {
			t.Errorf("%q has no id %s", line, id.Hex())
		}
		if err != nil && !errors.Is(err, ErrProtocol) {
			t.Error(err)
		}
	})
}

func TestLinesAreBounded(t *testing.T) {
	endless := io.LimitReader(repeating('x'), 2*MaxMessage)
	if err := lines(endless, func([]byte) error { return nil }); err == nil {
		t.Error("a line without end was taken")
	}
}

type repeating byte

func (r repeating) Read(b []byte) (int, error) {
	for i := range b {
		b[i] = byte(r)
	}
	return len(b), nil
}
