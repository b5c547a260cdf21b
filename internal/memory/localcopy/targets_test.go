//go:build unix

package localcopy

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/memory/recall"
	"engramd/internal/memory/state/sealedfile"
)

// vocabulary is what made texts are of: common words are common, as in texts of
// people.
type vocabulary struct {
	words []string
	rnd   *rand.Rand
	zipf  *rand.Zipf
}

func newVocabulary() *vocabulary {
	v := &vocabulary{rnd: rand.New(rand.NewPCG(1, 2))}
	for range 20_000 {
		var b strings.Builder
		for range 2 + v.rnd.IntN(3) {
			b.WriteByte("bcdfghjklmnprstvz"[v.rnd.IntN(17)])
			b.WriteByte("aeiou"[v.rnd.IntN(5)])
		}
		v.words = append(v.words, b.String())
	}
	v.zipf = rand.NewZipf(v.rnd, 1.1, 8, uint64(len(v.words)-1))
	return v
}

func (v *vocabulary) sentence(words int) string {
	out := make([]string, words)
	for i := range out {
		out[i] = v.words[v.zipf.Uint64()]
	}
	return strings.Join(out, " ")
}

// text is a memory of 500 to 1,000 bytes.
func (v *vocabulary) text() string {
	most := 500 + v.rnd.IntN(500)
	var b strings.Builder
	for b.Len() < most-100 {
		b.WriteString(v.sentence(6 + v.rnd.IntN(8)))
		b.WriteString(". ")
	}
	return b.String()
}

// many makes n events, on all processors, and how long their texts are.
func many(t testing.TB, a *author, n int) (events []*nostr.Event, size int64) {
	t.Helper()
	v, texts := newVocabulary(), make([]string, n)
	for i := range texts {
		texts[i] = v.text()
		size += int64(len(texts[i]))
	}
	events = make([]*nostr.Event, n)
	var each sync.WaitGroup
	workers := runtime.GOMAXPROCS(0)
	for w := range workers {
		one := *a
		one.nonce = uint64(w) << 32
		each.Go(func() {
			for i := w; i < n; i += workers {
				events[i] = one.write(fmt.Sprintf("mem/notes/%d/n%d", i%50, i), texts[i], 1_700_000_000+int64(i))
			}
		})
	}
	each.Wait()
	return events, size
}

// bytesIn is how long the files of a folder are together.
func bytesIn(t testing.TB, dir string) (size int64) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		info, err := os.Stat(filepath.Join(dir, e.Name()))
		if err != nil {
			t.Fatal(err)
		}
		size += info.Size()
	}
	return size
}

// figures are what TestTargets measures: processor time, and bytes.
type figures struct {
	build, cold time.Duration
	median, p95 time.Duration
	caughtUp    time.Duration
	rebuild     time.Duration
	size, text  int64
}

func (f figures) String() string {
	return fmt.Sprintf("build %v, open and first recall %v (index made anew: %v), recall p50 %v p95 %v, a new text found after %v, files %.2f × the text (%d bytes)",
		f.build.Round(time.Millisecond), f.cold.Round(100*time.Microsecond), f.rebuild.Round(time.Millisecond), f.median.Round(10*time.Microsecond), f.p95.Round(10*time.Microsecond),
		f.caughtUp.Round(100*time.Microsecond), float64(f.size)/float64(f.text), f.text)
}

// ask is a recall of six words over a view.
func ask(t testing.TB, m *Copy, text string) (found []recall.Found) {
	t.Helper()
	err := m.Read(context.Background(), func(v *View) error {
		found = v.Index().Recall(recall.Query{Text: text, Now: time.Unix(1_800_000_000, 0)}, recall.Recipe(), v.Text)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// spent is how much processor time this process has had: what others do on this
// machine is not in it.
func spent(t testing.TB) time.Duration {
	t.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		t.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

func measure(t testing.TB, n int) (f figures) {
	a, dir := newAuthor(t, "agent", "owner"), t.TempDir()
	events, size := many(t, a, n+1)
	last := events[n]
	events = events[:n]
	f.text = size
	start := spent(t)
	m := open(t, a.Pair, Options{Dir: dir})
	put(t, m, near, events...)
	ask(t, m, "where does anything begin")
	f.build = spent(t) - start
	if err := m.Close(); err != nil {
		t.Fatal(err)
	}
	f.size = bytesIn(t, dir)

	v := newVocabulary()
	for range 5 { // the best of some: others use this machine
		start = spent(t)
		m = open(t, a.Pair, Options{Dir: dir})
		ask(t, m, v.sentence(6))
		if took := spent(t) - start; f.cold == 0 || took < f.cold {
			f.cold = took
		}
		if err := m.Close(); err != nil {
			t.Fatal(err)
		}
	}
	m = open(t, a.Pair, Options{Dir: dir})
	ask(t, m, "warm")
	var took []time.Duration
	for range 200 {
		q := v.sentence(6)
		start = spent(t)
		ask(t, m, q)
		took = append(took, spent(t)-start)
	}
	slices.Sort(took)
	f.median, f.p95 = took[len(took)/2], took[len(took)*95/100]
	start = spent(t)
	put(t, m, near, last)
	ask(t, m, "once more")
	f.caughtUp = spent(t) - start
	if err := m.Close(); err != nil {
		t.Fatal(err)
	}
	m = open(t, a.Pair, Options{Dir: dir})
	if err := m.file.Write(t.Context(), func(tx *sealedfile.Tx) error { return tx.Exec("DELETE FROM kept") }); err != nil {
		t.Fatal(err)
	}
	start = spent(t)
	ask(t, m, "anew")
	f.rebuild = spent(t) - start
	return f
}

// BenchmarkOpenAndRecall is what a hook does: it opens a copy of 10,000
// memories and asks once.
func BenchmarkOpenAndRecall(b *testing.B) {
	a, dir := newAuthor(b, "agent", "owner"), b.TempDir()
	events, _ := many(b, a, 10_000)
	m := open(b, a.Pair, Options{Dir: dir})
	put(b, m, near, events...)
	if err := m.Close(); err != nil {
		b.Fatal(err)
	}
	v := newVocabulary()
	for b.Loop() {
		m := open(b, a.Pair, Options{Dir: dir})
		ask(b, m, v.sentence(6))
		if err := m.Close(); err != nil {
			b.Fatal(err)
		}
	}
}
