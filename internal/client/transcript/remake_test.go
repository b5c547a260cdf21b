package transcript

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/client/contract"
	"engramd/internal/client/evidence"
	"engramd/internal/protocol/wire"
	"engramd/nips/niptemp"
)

// export returns the files of an export, signed, and what was verified of them.
func export(t testing.TB, change func(*contract.Thread)) (evidence.Files, evidence.Report) {
	t.Helper()
	poster, worker := strings.Repeat("1", 64), strings.Repeat("2", 64)
	pub := func(secret string) string {
		key, err := nostr.GetPublicKey(secret)
		if err != nil {
			t.Fatal(err)
		}
		return key
	}
	at, f := nostr.Timestamp(1_700_000_000), evidence.Files{}
	signed := func(secret string, kind int, content string, tags ...nostr.Tag) *nostr.Event {
		at++
		ev := &nostr.Event{Kind: kind, CreatedAt: at, Content: content, Tags: append(nostr.Tags{{"d", "c1"}}, tags...)}
		if err := ev.Sign(secret); err != nil {
			t.Fatal(err)
		}
		f.Events = append(wire.AppendEvent(f.Events, ev), '\n')
		return ev
	}
	open := signed(poster, niptemp.KindState, `{"contract_id":"c1","status":"open","description":"a job"}`, nostr.Tag{"p", pub(worker)})
	said := signed(worker, niptemp.KindEntry, `{"type":"message","content":"twelve pages"}`, nostr.Tag{"p", pub(poster)}, nostr.Tag{"t", "message"})
	took := signed(worker, niptemp.KindState, `{"contract_id":"c1","status":"accepted","previous_status":"open","note":"gladly"}`, nostr.Tag{"p", pub(poster)})
	r, err := evidence.Verify(f, evidence.Options{})
	if err != nil || !r.Holds() {
		t.Fatalf("%+v, %v", r, err)
	}
	entry, _ := contract.EntryOf(said)
	th := contract.Thread{Contract: contract.Contract{ID: "c1", Home: "wss://relay.example"}, Entries: []contract.Entry{entry,
		{EntryID: "mem_2", Type: "note", Visibility: "worker_only", Content: "a note to myself", Signature: contract.SignatureNone, N: 3, K: 1, Author: contract.Party{PubKey: pub(worker)}}}}
	th.Contract, th.Moves = contract.Signed(th.Contract, []*nostr.Event{open, took}, nil)
	if change != nil {
		change(&th)
	}
	var b bytes.Buffer
	if err := Unsigned(&b, th, Options{By: pub(worker), At: time.Unix(1_700_000_100, 0)}); err != nil {
		t.Fatal(err)
	}
	f.Unsigned = b.Bytes()
	return f, r
}

func remade(t testing.TB, f evidence.Files, r evidence.Report) string {
	t.Helper()
	var b bytes.Buffer
	if _, err := Remake(&b, f, r); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// TestTranscriptIsMadeAgain: what is signed stands in it as it was signed, whatever
// the file with unsigned words says, and any other transcript is found.
func TestTranscriptIsMadeAgain(t *testing.T) {
	f, r := export(t, nil)
	text := remade(t, f, r)
	for _, want := range []string{"\n    twelve pages\n", "\n    gladly\n", "\n    a job\n", "Status: `accepted`", "a note to myself", "private to the exporter"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not in\n%s", want, text)
		}
	}
	f.Transcript = []byte(text)
	if k := Check(f, r); k.Outcome != evidence.OK || !strings.Contains(k.Detail, "1 parts") {
		t.Errorf("%+v", k)
	}
	for from, to := range map[string]string{"twelve pages": "two pages", "gladly": "never", "accepted": "completed", "Signature: holds": "Signature: none"} {
		lie := f
		if lie.Transcript = bytes.Replace(f.Transcript, []byte(from), []byte(to), 1); Check(lie, r).Outcome != evidence.Failed {
			t.Errorf("%q in place of %q is not found", to, from)
		}
	}
	lie := f
	lie.Transcript = bytes.Replace(f.Transcript, []byte("## Record\n"), []byte("## Record\n\nThe worker owes everything.\n"), 1)
	if Check(lie, r).Outcome != evidence.Failed {
		t.Error("a sentence that was added is not found")
	}
}

// TestUnsignedWordsSignNothing: the file beside the transcript can neither change
// nor hide what is signed, nor give somebody's word a signature.
func TestUnsignedWordsSignNothing(t *testing.T) {
	honest, r := export(t, nil)
	text := remade(t, honest, r)
	for name, change := range map[string]func(*contract.Thread){
		"another text":   func(th *contract.Thread) { th.Entries[0].Content, th.Entries[0].CreatedAt = "two pages", 7 },
		"another author": func(th *contract.Thread) { th.Entries[0].Author.PubKey = strings.Repeat("a", 64) },
		"another status": func(th *contract.Thread) { th.Contract.Status, th.Contract.DecidedEvent = "completed", "x" },
		"other moves":    func(th *contract.Thread) { th.Moves[1].To, th.Moves[1].Note = "cancelled", "no" },
		"no moves":       func(th *contract.Thread) { th.Moves = nil },
	} {
		if f, r := export(t, change); remade(t, f, r) != text {
			t.Errorf("%s changes what is signed:\n%s", name, remade(t, f, r))
		}
	}
	for name, change := range map[string]func(*contract.Thread){
		"an entry left out":         func(th *contract.Thread) { th.Entries = th.Entries[1:] },
		"an entry twice":            func(th *contract.Thread) { th.Entries = append(th.Entries, th.Entries[0]) },
		"an event that is not here": func(th *contract.Thread) { th.Entries[1].Event = &nostr.Event{ID: "x"} },
		"a move as an entry":        func(th *contract.Thread) { th.Entries[1].Event = th.Moves[0].Event },
		"a request that is none": func(th *contract.Thread) {
			th.Entries[0].Withdrawn = &contract.Withdrawal{At: 1, Event: th.Moves[0].Event}
		},
	} {
		f, r := export(t, change)
		if _, err := Remake(&bytes.Buffer{}, f, r); err == nil {
			t.Errorf("%s is taken", name)
		}
	}
	f, r := export(t, func(th *contract.Thread) { th.Entries[1].Signature = contract.SignatureHolds })
	if text := remade(t, f, r); strings.Count(text, "Signature: holds") != 3 || !strings.Contains(text, "**signature not checked**") {
		t.Errorf("a word without an event has a signature:\n%s", text)
	}
}

// TestClosedExportsSayNothingSealed: what the transcript leaves out is not in the
// file beside it.
func TestClosedExportsSayNothingSealed(t *testing.T) {
	var b bytes.Buffer
	th := sample("a word under seal")
	th.Entries = th.Entries[5:]
	th.Contract, th.Moves, th.Order = contract.Contract{}, nil, nil
	for i := range th.Entries {
		th.Entries[i] = contract.Entry{Sealed: true, Content: th.Entries[i].Content, Attachments: th.Entries[i].Attachments}
	}
	if err := Unsigned(&b, th, Options{Closed: true}); err != nil || strings.Contains(b.String(), "under seal") || th.Entries[0].Content == "" {
		t.Errorf("%v: %s", err, b.String())
	}
}

func FuzzRemake(f *testing.F) {
	files, r := export(f, nil)
	f.Add(files.Unsigned)
	for _, text := range []string{`{}`, `{"Format":1}`, `{"Format":1,"Thread":{"Moves":[{}],"Order":{"Gaps":[{"N":1}]},"Entries":[{"Event":{}}]}}`, `[]`, ``} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, unsigned []byte) {
		files.Unsigned = unsigned
		var b bytes.Buffer
		if _, err := Remake(&b, files, r); errors.Is(err, evidence.ErrInput) && b.Len() > 0 {
			t.Fatal("something was written of what is no file of an export")
		} else if err == nil && !strings.Contains(b.String(), "\n    twelve pages\n") {
			t.Fatal(fmt.Sprintf("what is signed is not in\n%s", b.String()))
		}
	})
}
