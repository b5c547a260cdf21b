package load

import (
	"context"
	"encoding/json"
	"os"
	"testing"
	"time"

	"github.com/gorilla/websocket"

	"engramd/internal/protocol/wire"
)

// A correct answer gives a figure, whatever its formatting and fragments.
func TestRightAnswersGiveFigures(t *testing.T) {
	c, cache := testCorpus(t, testSize)
	rewrite := func(f wire.Frame, m [][]byte) [][]byte {
		for i := range m {
			if f.Label == wire.LabelReq && i < len(m)-1 {
				m[i] = reordered(t, m[i])
			}
		}
		return m
	}
	forms := map[string]*fakeRelay{
		"as we do":  {},
		"reordered": {answer: rewrite},
		"between notices": {answer: func(_ wire.Frame, m [][]byte) [][]byte {
			return append([][]byte{wire.AppendNotice(nil, "hello"), []byte(`["NEW",{"label":[1,2]}]`)}, m...)
		}},
		"in fragments":      {write: inFragments},
		"after a challenge": {challenge: "who"},
	}
	for name, fake := range forms {
		for workload, want := range map[string]int{
			"query": 12 * 20, "list": 12 * 100, "read-head": 12, "publish": 12, "publish-engrams": 12, "fill": 400,
		} {
			t.Run(name+"/"+workload, func(t *testing.T) {
				fake := &fakeRelay{answer: fake.answer, write: fake.write, challenge: fake.challenge}
				w := mustFind(t, workload)
				if w.Needs == NeedsCorpus {
					fake.fill(t, c)
				}
				startFake(t, fake)
				r, err := w.Run(context.Background(), Target{Name: "fake", URL: fake.url, PID: os.Getpid()}, Options{
					Count: 12, Connections: 3, Pipeline: 2, Warmup: 6, Size: testSize, Seed: testSeed, Cache: cache,
				})
				if err != nil {
					t.Fatal(err)
				}
				if r.Count != want || r.Seconds <= 0 || r.Rate != float64(r.Count)/r.Seconds {
					t.Errorf("counted %d in %v s, rate %v; want %d", r.Count, r.Seconds, r.Rate, want)
				}
				if l := r.Latency; workload != "fill" && (l == nil || l.Samples != 12 || l.Min <= 0 || l.Max < l.P99 || l.P99 < l.P50) {
					t.Errorf("latency %+v", l)
				}
				if r.Usage == nil || r.RSSBefore <= 0 || r.RSSPeak <= 0 || r.Server != "fake" || r.Workload != workload {
					t.Errorf("got %+v", r)
				}
				if _, err := json.Marshal(r); err != nil {
					t.Error(err)
				}
				if proved := len(fake.proved); fake.challenge != "" && proved != 3 || fake.challenge == "" && proved != 0 {
					t.Errorf("%d connections proved a key", proved)
				}
			})
		}
	}
}

// inFragments sends a message in three frames with a ping amid them.
func inFragments(ws *websocket.Conn, message []byte) error {
	w, err := ws.NextWriter(websocket.TextMessage)
	if err != nil {
		return err
	}
	// The library cuts where its buffer of 4 KiB is full, so each part is followed
	// by an amount of white space, which JSON lets stand anywhere but in strings.
	space := make([]byte, 4<<10)
	for i := range space {
		space[i] = ' '
	}
	for _, part := range [][]byte{space, message, space} {
		if _, err := w.Write(part); err != nil {
			return err
		}
		if err := ws.WriteControl(websocket.PingMessage, []byte("there?"), time.Time{}); err != nil {
			return err
		}
	}
	return w.Close()
}

func TestAuthModes(t *testing.T) {
	c, cache := testCorpus(t, testSize)
	for _, tt := range []struct {
		challenge string
		mode      AuthMode
		fails     bool
		proves    int
	}{
		{"", AuthAuto, false, 0},
		{"", AuthNever, false, 0},
		{"", AuthRequire, true, 0},
		{"a", AuthAuto, false, 1},
		{"a", AuthNever, false, 0},
		{"a\"\\b", AuthRequire, false, 1},
	} {
		t.Run(string(tt.mode)+"/"+tt.challenge, func(t *testing.T) {
			fake := &fakeRelay{challenge: tt.challenge}
			fake.fill(t, c)
			startFake(t, fake)
			_, err := mustFind(t, "list").Run(context.Background(), Target{URL: fake.url}, Options{
				Count: 1, Connections: 1, Size: testSize, Seed: testSeed, Cache: cache, Auth: tt.mode,
			})
			if (err != nil) != tt.fails {
				t.Error(err)
			}
			if len(fake.proved) != tt.proves || tt.proves == 1 && fake.proved[0] != c.Agents[0].Pub {
				t.Errorf("proved %v", fake.proved)
			}
		})
	}
}
