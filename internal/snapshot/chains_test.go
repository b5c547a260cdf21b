package snapshot

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"
	"testing"

	"engramd/internal/protocol/writerlog"
	"engramd/internal/snapshot/bundle"
)

// logOf collects a log of so many numbers, as some change leaves it.
func logOf(n int, change func(in *writerlog.Evidence, ids []string)) *Logs {
	l := NewLogs("here")
	addLog(l, "4f1c22ab", n)
	if change != nil {
		var ids []string
		for i := range n {
			ids = append(ids, idOf("4f1c22ab", i))
		}
		change(&l.in, ids)
		l.shown.Heads = nil
		for id := range l.in.Events {
			l.shown.Heads = append(l.shown.Heads, id)
		}
	}
	return l
}

func idOf(w string, n int) string {
	sum := sha256.Sum256(fmt.Append(nil, w, n))
	return hex.EncodeToString(sum[:])
}

func addLog(l *Logs, w string, n int) {
	var tree writerlog.Tree
	for i := range n {
		id := idOf(w, i)
		link := &writerlog.Link{W: w, N: int64(i), T: int64(1000 + i), Root: tree.Root(int64(i))}
		if i > 0 {
			link.Prev = idOf(w, i-1)
		}
		l.in.Events[id] = writerlog.Event{ID: id, D: id, At: link.T, Slug: "mem/a", Link: link}
		l.shown.Heads = append(l.shown.Heads, id)
		raw, _ := writerlog.ParseID(id)
		tree.Append(raw)
	}
}

// TestLogsCheck: complete is what has all numbers or names them as void; a gap is
// not proved to be one, and a fork or another root is a fault.
func TestLogsCheck(t *testing.T) {
	for name, c := range map[string]struct {
		logs  *Logs
		state bundle.CheckState
		want  string
	}{
		"whole":    {logOf(7, nil), bundle.OK, "complete as of writer 4f1c22ab n=6"},
		"one":      {logOf(1, nil), bundle.OK, "complete as of writer 4f1c22ab n=0"},
		"unlogged": {logOf(0, nil), bundle.NotChecked, "no engram that can be read is in a log"},
		"one is not there": {logOf(7, func(in *writerlog.Evidence, ids []string) { delete(in.Events, ids[3]) }), bundle.NotChecked,
			"writer 4f1c22ab n=6, and of its 7 numbers 6 are here or void: the others were superseded and dropped, or left out"},
		"the beginning is not there": {logOf(7, func(in *writerlog.Evidence, ids []string) {
			for _, id := range ids[:5] {
				delete(in.Events, id)
			}
		}), bundle.NotChecked, "writer 4f1c22ab n=6, and of its 7 numbers 2 are here"},
		"one is void": {logOf(7, func(in *writerlog.Evidence, ids []string) {
			delete(in.Events, ids[3])
			in.Events[ids[6]].Link.Void = []writerlog.Num{{N: 3, ID: ids[3]}}
		}), bundle.OK, "complete as of writer 4f1c22ab n=6"},
		"one is late, and one is not there": {logOf(7, func(in *writerlog.Evidence, ids []string) {
			delete(in.Events, ids[4])
			in.Events[ids[6]].Link.Void = []writerlog.Num{{N: 3, ID: ids[3]}}
		}), bundle.NotChecked, "of its 7 numbers 6 are here or void"},
		"forked": {logOf(7, func(in *writerlog.Evidence, ids []string) {
			other := in.Events[ids[2]]
			other.ID = strings.Repeat("ab", 32)
			in.Events[other.ID] = other
		}), bundle.Failed, "forked: writer 4f1c22ab n=2"},
		"rewritten": {logOf(7, func(in *writerlog.Evidence, ids []string) { in.Events[ids[2]].Link.Root = writerlog.Hash{1} }), bundle.Failed, "rewritten: writer 4f1c22ab n=2"},
	} {
		got := c.logs.Check()
		if got.Name != CheckLogs || got.State != c.state || !strings.Contains(got.Reason, c.want) || got.Asked {
			t.Errorf("%s: %+v, want %s: %s", name, got, c.state, c.want)
		}
	}
	many := NewLogs("here")
	for i := range 9 {
		addLog(many, fmt.Sprintf("%08x", i), 2)
	}
	if got := many.Check(); got.State != bundle.OK || strings.Count(got.Reason, "complete as of") != 5 || !strings.HasSuffix(got.Reason, "; 4 more") {
		t.Errorf("many logs: %+v", got)
	}
}
