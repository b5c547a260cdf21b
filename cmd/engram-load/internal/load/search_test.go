package load

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"engramd/internal/protocol/wire"
)

// finding makes a fake relay answer COUNT and search.
func finding(fake *fakeRelay, change func(f wire.Frame, n int, m [][]byte) [][]byte) *fakeRelay {
	asked := 0
	fake.answer = func(f wire.Frame, m [][]byte) [][]byte {
		fake.mu.Lock()
		defer fake.mu.Unlock()
		switch {
		case f.Label == wire.LabelCount:
			m = [][]byte{wire.AppendCount(nil, f.SubID, int64(len(fake.find(f.Filters[0]))))}
		case f.Label == wire.LabelReq:
			m = nil
			filter := f.Filters[0]
			filter.Limit = 0
			for _, ev := range fake.find(filter) {
				if strings.Contains(ev.Content, filter.Search) && len(m) < f.Filters[0].Limit {
					m = append(m, wire.AppendEventFrame(nil, f.SubID, wire.AppendEvent(nil, ev)))
				}
			}
			m = append(m, wire.AppendEOSE(nil, f.SubID))
		default:
			return m
		}
		if asked++; change != nil {
			m = change(f, asked, m)
		}
		return m
	}
	return fake
}

func TestCountAndSearchGiveFigures(t *testing.T) {
	const size = 2200 // 550 notes have the common word: more than are asked for
	c, cache := testCorpus(t, size)
	if c.Common() <= searchLimit || c.Rare() == 0 {
		t.Fatalf("%d common, %d rare", c.Common(), c.Rare())
	}
	fake := finding(&fakeRelay{}, nil)
	fake.fill(t, c)
	startFake(t, fake)
	o := Options{Count: 20, Connections: 2, Warmup: 3, Size: size, Seed: testSeed, Cache: cache}
	for workload, want := range map[string]map[string]float64{
		"count":  {"matches": float64(c.Rare())},
		"search": {"results": float64(min(c.Rare(), searchLimit)), "half_asked": 2, "half_given_up": 0},
	} {
		r, err := mustFind(t, workload).Run(context.Background(), Target{URL: fake.url}, o)
		if err != nil {
			t.Fatal(err)
		}
		if r.Count != 20 || r.Latency.Samples != 20 || r.Latency.Min <= 0 {
			t.Errorf("%s: %+v", workload, r)
		}
		for name, value := range want {
			if got, has := r.Extra[name]; !has || got != value {
				t.Errorf("%s: %s is %v, want %v", workload, name, got, value)
			}
		}
	}
}

// A relay may give up a search for a word that half of all notes have, and no
// other search.
func TestSearchGivenUp(t *testing.T) {
	c, cache := testCorpus(t, testSize)
	for name, tt := range map[string]struct {
		text string
		word string
		want error
	}{
		"common, no time": {"error: the search took too long", CommonWord, nil},
		"common, refused": {"restricted: not you", CommonWord, ErrRefused},
		"rare, no time":   {"error: the search took too long", RareWord, ErrRefused},
	} {
		t.Run(name, func(t *testing.T) {
			fake := finding(&fakeRelay{}, func(f wire.Frame, _ int, m [][]byte) [][]byte {
				if f.Filters[0].Search == tt.word {
					return [][]byte{wire.AppendClosed(nil, f.SubID, tt.text)}
				}
				return m
			})
			fake.fill(t, c)
			startFake(t, fake)
			r, err := mustFind(t, "search").Run(context.Background(), Target{URL: fake.url},
				Options{Count: 100, Connections: 1, Size: testSize, Seed: testSeed, Cache: cache})
			if !errors.Is(err, tt.want) {
				t.Fatalf("got %v, want %v", err, tt.want)
			}
			if _, p50 := r.Extra["half_p50_us"]; err == nil && (r.Extra["half_given_up"] != maxGivenUp || r.Extra["half_asked"] != maxGivenUp || p50) {
				t.Errorf("%v", r.Extra)
			}
		})
	}
}

func TestCountAndSearchFindWrongAnswers(t *testing.T) {
	c, cache := testCorpus(t, testSize)
	var note, engram []byte // events without the words
	for _, ev := range readEvents(t, c.Path) {
		switch text := wire.AppendEventFrame(nil, askSub, wire.AppendEvent(nil, ev)); {
		case ev.Kind != 1:
			engram = text
		case !strings.Contains(ev.Content, RareWord):
			note = text
		}
	}
	count := func(n int64) func([][]byte) [][]byte {
		return func([][]byte) [][]byte { return [][]byte{wire.AppendCount(nil, askSub, n)} }
	}
	tests := []struct {
		workload, name string
		change         func(m [][]byte) [][]byte
		want           error
	}{
		{"count", "one less", count(int64(c.Rare() - 1)), ErrWrong},
		{"count", "one more", count(int64(c.Rare() + 1)), ErrWrong},
		{"count", "all notes", count(testSize / 2), ErrWrong},
		{"count", "EOSE", func([][]byte) [][]byte { return [][]byte{wire.AppendEOSE(nil, askSub)} }, ErrWrong},
		{"count", "not a number", func([][]byte) [][]byte { return [][]byte{[]byte(`["COUNT","q",{"count":"1"}]`)} }, ErrProtocol},
		{"search", "one is missing", func(m [][]byte) [][]byte { return slices.Delete(m, 0, 1) }, ErrWrong},
		{"search", "none", func(m [][]byte) [][]byte { return m[len(m)-1:] }, ErrWrong},
		{"search", "one twice", func(m [][]byte) [][]byte { m[0] = m[1]; return m }, ErrWrong},
		{"search", "one more", func(m [][]byte) [][]byte { return slices.Insert(m, 0, m[0]) }, ErrWrong},
		{"search", "without the word", func(m [][]byte) [][]byte { m[0] = note; return m }, ErrWrong},
		{"search", "an engram", func(m [][]byte) [][]byte { m[0] = engram; return m }, ErrWrong},
		{"search", "not in the corpus", func(m [][]byte) [][]byte { m[0] = otherOf(m[0]); return m }, ErrWrong},
		{"search", "an id too long", func(m [][]byte) [][]byte {
			m[0] = bytes.Replace(m[0], []byte(`"id":"`), []byte(`"id":"Z`), 1)
			return m
		}, ErrProtocol},
	}
	for _, workload := range []string{"count", "search"} {
		tests = append(tests, []struct {
			workload, name string
			change         func(m [][]byte) [][]byte
			want           error
		}{
			{workload, "refused", func([][]byte) [][]byte { return [][]byte{wire.AppendClosed(nil, askSub, "restricted: no")} }, ErrRefused},
			{workload, "unsupported", func([][]byte) [][]byte { return [][]byte{wire.AppendClosed(nil, askSub, "unsupported: no")} }, ErrUnsupported},
			{workload, "hangs up", func([][]byte) [][]byte { return [][]byte{hangUp} }, ErrClosed},
			{workload, "silent", func([][]byte) [][]byte { return nil }, ErrTimeout},
		}...)
	}
	for _, tt := range tests {
		t.Run(tt.workload+"/"+tt.name, func(t *testing.T) {
			fake := finding(&fakeRelay{}, func(_ wire.Frame, n int, m [][]byte) [][]byte {
				if n != 5 {
					return m
				}
				return tt.change(m)
			})
			fake.fill(t, c)
			startFake(t, fake)
			wantFailure(t, tt.workload, fake, tt.want, Options{
				Count: 12, Connections: 1, Warmup: 2, Size: testSize, Seed: testSeed, Cache: cache,
			})
		})
	}
}

// A wrong answer is excused only by a document that lists NIPs and not this
// one.
func TestExcuse(t *testing.T) {
	for _, tt := range []struct {
		name, document string
		err            error
		excused        bool
	}{
		{"not listed", `{"supported_nips":[1,11,"7D"]}`, ErrWrong, true},
		{"not listed, refused", `{"supported_nips":[1,11]}`, ErrRefused, true},
		{"not listed, silent", `{"supported_nips":[1,11]}`, ErrTimeout, true},
		{"not listed, but gone", `{"supported_nips":[1,11]}`, ErrClosed, false},
		{"listed", `{"supported_nips":[1,45]}`, ErrWrong, false},
		{"no list", `{"name":"relay"}`, ErrWrong, false},
		{"an empty list", `{"supported_nips":[]}`, ErrWrong, false},
		{"no document", `Not Found`, ErrWrong, false},
		{"endless", `{"name":"` + strings.Repeat("x", maxDocument), ErrWrong, false},
		{"no error", `{"supported_nips":[1]}`, nil, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.Header.Get("Accept") == "application/nostr+json" {
					w.Write([]byte(tt.document))
				}
			}))
			defer server.Close()
			err := excuse(context.Background(), Target{URL: "ws" + strings.TrimPrefix(server.URL, "http")}, nipCount, tt.err)
			if errors.Is(err, ErrUnsupported) != tt.excused || !errors.Is(err, tt.err) {
				t.Errorf("got %v", err)
			}
		})
	}
}

func TestExchangeIsPatientForSoLong(t *testing.T) {
	fake := &fakeRelay{answer: func(wire.Frame, [][]byte) [][]byte { return nil }}
	startFake(t, fake)
	c, err := Dial(context.Background(), fake.url, DialOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	_, err = c.exchange(context.Background(), 20*time.Millisecond, nil, []byte(`["COUNT","q",{"kinds":[1]}]`))
	if !errors.Is(err, ErrTimeout) {
		t.Errorf("got %v", err)
	}
}
