package snapshot

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/chain"
	"engramd/nips/nipae"
)

// sealedAt is an engram as it was opened, with an id and a link.
func sealedAt(t *testing.T, owner, slug string, id byte, at int64, link *chain.Link) nipae.Engram {
	t.Helper()
	body, err := nipae.NewMemory(nipae.Slug(slug), "a text")
	if err != nil {
		t.Fatal(err)
	}
	if link != nil {
		link.T = at
		if body, err = body.WithMember(chain.Member, link.JSON()); err != nil {
			t.Fatal(err)
		}
	}
	return nipae.Engram{Body: body, Event: &nostr.Event{ID: fmt.Sprintf("%064x", id), CreatedAt: nostr.Timestamp(at), Tags: nostr.Tags{{"d", slug}, {"p", owner}}}}
}

// TestLogs: a bundle says of each owner's logs how far they are complete in it, and
// names what no honest writer writes.
func TestLogs(t *testing.T) {
	ana, bo := strings.Repeat("a", 64), strings.Repeat("b", 64)
	var tree chain.Tree
	link := func(n int64, prev byte) *chain.Link {
		l := &chain.Link{W: "0a1b2c3d", N: n, Root: tree.Root(n)}
		if n > 0 {
			l.Prev = fmt.Sprintf("%064x", prev)
		}
		return l
	}
	var logs Logs
	add := func(id byte, l *chain.Link) {
		logs.Add(sealedAt(t, ana, fmt.Sprintf("mem/%d", id), id, 1_700_000_000+int64(id), l))
		if l != nil {
			h, _ := chain.ParseID(fmt.Sprintf("%064x", id))
			tree.Append(h)
		}
	}
	add(1, link(0, 0))
	add(2, link(1, 1))
	add(9, nil)
	logs.Add(sealedAt(t, bo, "mem/other", 7, 1_700_000_000, &chain.Link{W: "ffffffff", N: 4, Prev: fmt.Sprintf("%064x", 6)}))
	var out bytes.Buffer
	judged := logs.Judge()
	if err := WriteLogs(&out, judged); err != nil {
		t.Fatal(err)
	}
	want := "complete as of writer 0a1b2c3d n=1\nwriter ffffffff n=4: every id known for 0 numbers, 1 versions in the snapshot\n"
	if out.String() != want || judged[0].Owner != ana || judged[1].Owner != bo {
		t.Errorf("%s%+v", out.String(), judged)
	}
	twin := link(1, 1)
	logs.Add(sealedAt(t, ana, "mem/twin", 3, 1_700_000_003, twin))
	if judged := logs.Judge(); len(judged[0].Faults) != 1 || judged[0].Faults[0] != "forked: n=1" {
		t.Errorf("%+v", judged)
	}
	var none Logs
	if got := none.Judge(); got == nil || len(got) != 0 {
		t.Errorf("%v", got)
	}
}
