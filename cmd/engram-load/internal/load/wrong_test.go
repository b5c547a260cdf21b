package load

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"engramd/internal/protocol/wire"
)

const (
	testSize = 400
	testSeed = 7
	// soon is how long a test waits for what must not come.
	soon = 300 * time.Millisecond
)

// testCorpus makes a small corpus in a folder of the test.
func testCorpus(t testing.TB, size int) (*Corpus, string) {
	t.Helper()
	cache := t.TempDir()
	c, err := PrepareCorpus(context.Background(), cache, size, testSeed)
	if err != nil {
		t.Fatal(err)
	}
	return c, cache
}

func mustFind(t testing.TB, name string) Workload {
	t.Helper()
	w, err := Find(name)
	if err != nil {
		t.Fatal(err)
	}
	return w
}

// otherOf returns a message about another event, of the same form.
func otherOf(m []byte) []byte {
	i := bytes.Index(m, []byte(`"id":"`))
	if i < 0 { // an OK
		i = bytes.IndexByte(m, ',') - 4
	}
	m = bytes.Clone(m)
	for at := i + 6; at < i+6+64; at++ {
		m[at] = '0'
	}
	return m
}

// Every wrong answer to a question is an error and gives no figure.
func TestAskingFindsWrongAnswers(t *testing.T) {
	c, cache := testCorpus(t, testSize)
	closed := wire.AppendClosed(nil, askSub, "error: busy")
	tests := []struct {
		name string
		many bool // makes sense for answers of several events only
		// change gets the events and EOSE of one answer.
		change func(m [][]byte) [][]byte
		want   error
	}{
		{"one is missing", true, func(m [][]byte) [][]byte { return slices.Delete(m, 3, 4) }, ErrWrong},
		{"the last is missing", false, func(m [][]byte) [][]byte { return slices.Delete(m, len(m)-2, len(m)-1) }, ErrWrong},
		{"all are missing", false, func(m [][]byte) [][]byte { return m[len(m)-1:] }, ErrWrong},
		{"order", true, func(m [][]byte) [][]byte { m[2], m[3] = m[3], m[2]; return m }, ErrWrong},
		{"oldest first", true, func(m [][]byte) [][]byte { slices.Reverse(m[:len(m)-1]); return m }, ErrWrong},
		{"one twice", false, func(m [][]byte) [][]byte { return slices.Insert(m, 0, m[0]) }, ErrWrong},
		{"the last twice", false, func(m [][]byte) [][]byte { return slices.Insert(m, len(m)-1, m[len(m)-2]) }, ErrWrong},
		{"another id", false, func(m [][]byte) [][]byte { m[0] = otherOf(m[0]); return m }, ErrWrong},
		{"another time", false, func(m [][]byte) [][]byte {
			m[0] = bytes.Replace(m[0], []byte(`"created_at":17`), []byte(`"created_at":16`), 1)
			return m
		}, ErrWrong},
		{"another subscription", false, func(m [][]byte) [][]byte {
			m[0] = bytes.Replace(m[0], []byte(`"`+askSub+`"`), []byte(`"zz"`), 1)
			return m
		}, ErrWrong},
		{"refused", false, func([][]byte) [][]byte { return [][]byte{closed} }, ErrRefused},
		{"refused half-way", false, func(m [][]byte) [][]byte { return [][]byte{m[0], closed} }, ErrRefused},
		{"no JSON", false, func(m [][]byte) [][]byte { m[0] = []byte(`["EVENT","q",{"id":`); return m }, ErrProtocol},
		{"hangs up", false, func(m [][]byte) [][]byte { return [][]byte{m[0], hangUp} }, ErrClosed},
		{"silent", false, func([][]byte) [][]byte { return nil }, ErrTimeout},
		{"silent before EOSE", false, func(m [][]byte) [][]byte { return m[:len(m)-1] }, ErrTimeout},
		{"talks without end", false, func([][]byte) [][]byte {
			return slices.Repeat([][]byte{wire.AppendNotice(nil, "wait")}, maxOthers+1)
		}, ErrWrong},
	}
	for _, workload := range []string{"query", "list", "read-head"} {
		for _, tt := range tests {
			if tt.many && workload == "read-head" {
				continue
			}
			t.Run(workload+"/"+tt.name, func(t *testing.T) {
				t.Parallel()
				fake, asked := &fakeRelay{}, 0
				fake.fill(t, c)
				fake.answer = func(f wire.Frame, m [][]byte) [][]byte {
					if f.Label != wire.LabelReq {
						return m
					}
					fake.mu.Lock()
					defer fake.mu.Unlock()
					if asked++; asked != 5 { // after the warm-up, among correct answers
						return m
					}
					return tt.change(m)
				}
				startFake(t, fake)
				wantFailure(t, workload, fake, tt.want, Options{
					Count: 12, Connections: 3, Warmup: 3, Size: testSize, Seed: testSeed, Cache: cache,
				})
			})
		}
	}
}

// wantFailure runs a workload, which must fail with want and no figure.
func wantFailure(t *testing.T, workload string, fake *fakeRelay, want error, o Options) {
	t.Helper()
	if o.Timeout = 30 * time.Second; want == ErrTimeout {
		o.Timeout = soon
	}
	r, err := mustFind(t, workload).Run(context.Background(), Target{URL: fake.url}, o)
	if !errors.Is(err, want) || r.Count != 0 || r.Rate != 0 {
		t.Errorf("got %v and rate %v, want %v", err, r.Rate, want)
	}
}

// A wrong signature or text is found in the warm-up.
func TestAskingVerifiesEvents(t *testing.T) {
	c, cache := testCorpus(t, testSize)
	for name, change := range map[string]func([]byte) []byte{
		"content":   func(m []byte) []byte { return bytes.Replace(m, []byte(`"content":"`), []byte(`"content":"x`), 1) },
		"signature": func(m []byte) []byte { at := len(m) - 20; m[at] ^= 1; return m },
		"kind":      func(m []byte) []byte { return bytes.Replace(m, []byte(`"kind":1`), []byte(`"kind":2`), 1) },
	} {
		t.Run(name, func(t *testing.T) {
			fake := &fakeRelay{answer: func(f wire.Frame, m [][]byte) [][]byte {
				if f.Label == wire.LabelReq {
					m[0] = change(m[0])
				}
				return m
			}}
			fake.fill(t, c)
			startFake(t, fake)
			wantFailure(t, "query", fake, ErrWrong, Options{
				Count: 2, Connections: 1, Warmup: 1, Size: testSize, Seed: testSeed, Cache: cache,
			})
		})
	}
}

// Every wrong answer to a published event is an error and gives no figure.
func TestPublishingFindsWrongAnswers(t *testing.T) {
	cache := t.TempDir()
	no := func(m []byte) []byte { return bytes.Replace(m, []byte(",true,"), []byte(",false,"), 1) }
	tests := []struct {
		name   string
		change func(m [][]byte) [][]byte
		want   error
	}{
		{"OK false", func(m [][]byte) [][]byte { return [][]byte{no(m[0])} }, ErrRefused},
		{"OK to another id", func(m [][]byte) [][]byte { return [][]byte{otherOf(m[0])} }, ErrWrong},
		{"a second OK", func(m [][]byte) [][]byte { return append(m, m[0]) }, ErrWrong},
		{"had it already", func(m [][]byte) [][]byte {
			return [][]byte{bytes.Replace(m[0], []byte(`""]`), []byte(`"duplicate: yes"]`), 1)}
		}, ErrHeld},
		{"no answer", func([][]byte) [][]byte { return nil }, ErrTimeout},
		{"a notice only", func([][]byte) [][]byte { return [][]byte{wire.AppendNotice(nil, "no")} }, ErrTimeout},
		{"hangs up", func([][]byte) [][]byte { return [][]byte{hangUp} }, ErrClosed},
		{"no message", func([][]byte) [][]byte { return [][]byte{[]byte(`{"OK":true}`)} }, ErrProtocol},
	}
	for _, workload := range []string{"publish", "publish-engrams"} {
		for _, tt := range tests {
			t.Run(workload+"/"+tt.name, func(t *testing.T) {
				fake, got := &fakeRelay{}, 0
				fake.answer = func(f wire.Frame, m [][]byte) [][]byte {
					if f.Label != wire.LabelEvent {
						return m
					}
					fake.mu.Lock()
					defer fake.mu.Unlock()
					if got++; got != 50 { // by then no connection has sent its last
						return m
					}
					return tt.change(m)
				}
				startFake(t, fake)
				wantFailure(t, workload, fake, tt.want, Options{
					Count: 400, Connections: 4, Pipeline: 8, Warmup: 20, Seed: testSeed, Cache: cache,
				})
			})
		}
	}
}
