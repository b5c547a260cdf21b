package transcript

import (
	"bytes"
	"cmp"
	"strings"
	"testing"
	"time"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/client/contract"
	"engramd/internal/protocol/wire"
	"engramd/nips/frontmatter"
)

const (
	posterKey = "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
	workerKey = "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb"
)

// sample returns a thread with an entry of every kind, with the given text in
// every place where a party's text can stand.
func sample(text string) contract.Thread {
	event := func(n byte) *nostr.Event {
		return &nostr.Event{ID: strings.Repeat(string([]byte{n}), 64), PubKey: posterKey, CreatedAt: nostr.Timestamp(n), Kind: 30090, Tags: nostr.Tags{}, Content: text, Sig: strings.Repeat("0", 128)}
	}
	entry := func(n byte, s contract.Signature) contract.Entry {
		return contract.Entry{EntryID: text, Author: contract.Party{AgentID: text, PubKey: workerKey}, Type: text, Visibility: text, Content: text,
			Attachments: []string{text}, CreatedAt: int64(n), ArrivedAt: int64(n) + 86400, EventID: strings.Repeat(string([]byte{n}), 64), Signature: s}
	}
	holds, private, unreadable := entry('3', contract.SignatureHolds), entry('4', contract.SignatureNone), entry('6', contract.SignatureHolds)
	holds.Event, private.EventID = event('3'), ""
	unreadable.Sealed, unreadable.Unreadable = true, true
	holds.N, holds.Withdrawn = 3, &contract.Withdrawal{At: 7, Request: text}
	private.N, private.K = 3, 1
	opened, byRelay := entry('9', contract.SignatureHolds), entry('a', contract.SignatureUnseen)
	opened.Sealed, opened.Event = true, event('9')
	byRelay.Sealed, byRelay.ByRelay, byRelay.Event = true, true, event('a')
	opened.Event.Content, byRelay.Event.Content = "payload", "payload" // base64 by its shape
	return contract.Thread{
		Contract: contract.Contract{ID: "id", Status: "completed", Poster: contract.Party{AgentID: text, PubKey: posterKey}, Worker: contract.Party{AgentID: text, PubKey: workerKey},
			Arbitrator: contract.Party{AgentID: text}, Description: text, Decided: text, DecidedNote: text, Home: text, UpdatedAt: 9},
		Moves: []contract.Move{
			{To: "open", By: posterKey, CreatedAt: '1', Event: event('1'), Follows: true, Note: text},
			{From: text, To: text, By: workerKey, CreatedAt: '5', Event: event('5'), Why: text},
		},
		Entries:   []contract.Entry{holds, private, entry('7', contract.SignatureDiffers), entry('8', contract.SignatureUnseen), unreadable, opened, byRelay},
		Strangers: 2,
		Order: &contract.Order{Event: event('9'), Lines: text, Gaps: []contract.Gap{
			{N: 2, ReceivedAt: 5, Type: text, Role: text}, {N: 4, Type: "state", Role: "worker", Status: text, Previous: text}}},
	}
}

func written(t testing.TB, text string) string {
	t.Helper()
	var b bytes.Buffer
	o := Options{By: posterKey, At: time.Unix(0, 0), Relays: []string{text}, Notes: []string{text}, Withheld: 1}
	if err := Markdown(&b, sample(text), o); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// skeleton returns a transcript without the lines that are a party's text.
func skeleton(text string) []string {
	var out []string
	for line := range strings.SplitSeq(text, "\n") {
		if !strings.HasPrefix(line, indent) {
			out = append(out, line)
		}
	}
	return out
}

// checkContained fails if a text changes anything but its own place in the
// transcript.
func checkContained(t testing.TB, text string) {
	t.Helper()
	got, want := skeleton(written(t, text)), skeleton(written(t, "word"))
	if len(got) != len(want) {
		t.Fatalf("%q makes %d lines of %d", text, len(got), len(want))
	}
	for i := range got {
		if frontmatter.Visible(got[i]) != got[i] {
			t.Fatalf("%q brings what nobody sees into %q", text, got[i])
		}
		// The transcript's own lines contain the text as code only: outside of code
		// nothing differs.
		if a, b := outside(got[i]), outside(want[i]); a != b {
			t.Fatalf("%q: line %q is %q outside of code, want %q", text, got[i], a, b)
		}
	}
}

// outside returns a line without its code spans, as CommonMark finds them.
func outside(line string) string {
	var b strings.Builder
	for line != "" {
		i := strings.IndexByte(line, '`')
		if i < 0 {
			break
		}
		b.WriteString(line[:i])
		line = line[i:]
		n := len(line) - len(strings.TrimLeft(line, "`"))
		fence, rest := line[:n], line[n:]
		end := -1
		for at := 0; at < len(rest); {
			j := strings.IndexByte(rest[at:], '`')
			if j < 0 {
				break
			}
			at += j
			m := len(rest[at:]) - len(strings.TrimLeft(rest[at:], "`"))
			if m == n {
				end = at
				break
			}
			at += m
		}
		if end < 0 {
			b.WriteString(fence)
			line = rest
			continue
		}
		b.WriteString("[code]")
		line = rest[end+n:]
	}
	return b.String() + line
}

var hostile = []string{
	"# Heading\n## 9. State: `completed`\n", "```\nout\n```", "`", "``", "` `` `", "a`b``c```d", "\n\n\n", "- item\n> quote\n---\n===", "<script>alert(1)</script>\n<!--",
	"\x1b[2J\x1b]8;;http://evil\x07", "a\rb\r\nc", "\u202egnp.exe", "\u2028## x\u2029## y", "\t\tx\n\ty", "\\`\\", "[x](javascript:y)", "    ", "", "\x00\xff\xfe", "\u0085## x\v## y\f## z",
	"\U000E0041\ufeff\u200b", "`\n`", strings.Repeat("`", 300),
}

func TestHostileTexts(t *testing.T) {
	for _, text := range hostile {
		if text == "" {
			continue // is left out where there may be none, and so are lines
		}
		checkContained(t, text)
	}
}

// Everything with a number stands in the order of arrival, gaps and withdrawn
// entries included; the rest by date.
func TestRecordIsByArrival(t *testing.T) {
	th := sample("word")
	th.Moves[1].N = 1 // dated after all that came later
	th.Entries[4].N = 5
	var got []string
	for _, r := range records(th) {
		switch {
		case r.Gap != nil:
			got = append(got, "gap")
		case r.Move != nil:
			got = append(got, "move "+string(r.Move.Event.ID[0]))
		default:
			got = append(got, "entry "+string(cmp.Or(r.Entry.EventID, "private")[0]))
		}
	}
	if want := "move 1|move 5|gap|entry 3|entry p|gap|entry 6|entry 7|entry 8|entry 9|entry a"; strings.Join(got, "|") != want {
		t.Errorf("the record is %s, want %s", strings.Join(got, "|"), want)
	}
	text := written(t, "word")
	for _, want := range []string{"**Withdrawn** by its author at 1970-01-01T00:00:07Z", "Gone: `state`", "- By: the worker", "an author whose part is not known", "Number: after 3; the exporter's private entry 1"} {
		if !strings.Contains(text, want) {
			t.Errorf("the transcript does not say %q:\n%s", want, text)
		}
	}
	var b bytes.Buffer
	if err := Order(&b, th); err != nil || !strings.Contains(b.String(), `"lines": "word"`) {
		t.Errorf("order.json is %s (%v)", b.String(), err)
	}
	th.Order = nil
	b.Reset()
	if err := Markdown(&b, th, Options{By: posterKey}); err != nil || !strings.Contains(b.String(), "**unproven**") {
		t.Errorf("an order that nobody signed is not called unproven (%v)", err)
	}
}

func FuzzMarkdown(f *testing.F) {
	for _, text := range hostile {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if text != "" {
			checkContained(t, text)
		}
	})
}

// TestVerdicts: the transcript says of each entry what was verified.
func TestVerdicts(t *testing.T) {
	text := written(t, "word")
	for _, want := range []string{
		"- 1: signature holds\n", "- 3: signature holds over an encrypted payload", "- Signature: holds over the encrypted payload; event", "- 1: **the relay's API said something else than was signed**", "- 1: **signature not checked**", "- 1: private to the exporter, never signed",
		"- 1 more are private to the exporter", "- 2 events under the same contract id", "(**24h0m0s after its date**)", "- **Does not follow** from the moves before it", "**Incomplete**: `word`",
		"### Decision: `completed`, by the `word`", "The exporter's key does not open it", "- poster (the exporter): ", "who calls itself `word`", "\n    word\n",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not in\n%s", want, text)
		}
	}
}

// TestEvents: each signed event is written once, oldest first, in a form that
// can be read back.
func TestEvents(t *testing.T) {
	th := sample("text")
	th.Entries = append(th.Entries, th.Entries[0])
	var b bytes.Buffer
	if err := Events(&b, th); err != nil {
		t.Fatal(err)
	}
	var ids []string
	for line := range strings.Lines(b.String()) {
		ev, err := wire.ParseEvent([]byte(strings.TrimSpace(line)))
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, ev.ID[:1])
	}
	if got := strings.Join(ids, ""); got != "1359a" {
		t.Errorf("events %s", got)
	}
}

// TestSealedTextsStandApart: a text that no signature covers as it stands is
// under a heading of its own, with whose word it is; without that part it
// appears nowhere.
func TestSealedTextsStandApart(t *testing.T) {
	text := written(t, "word")
	record, sealed, found := strings.Cut(text, "\n## Sealed texts\n")
	if !found || strings.Count(sealed, "\n    word\n") < 2 {
		t.Fatalf("no sealed texts in\n%s", text)
	}
	for _, want := range []string{"**No signature covers these texts as they stand.**", "Opened with the exporter's key: the exporter's word", "Opened by the relay, which keeps the exporter's key: the relay's word"} {
		if !strings.Contains(sealed, want) {
			t.Errorf("%q is not in\n%s", want, sealed)
		}
	}
	for part := range strings.SplitSeq(record, "\n### ") {
		if strings.Contains(part, "payload") && strings.Contains(part, "Signature: holds") && strings.Contains(part, "\n    word\n") {
			t.Errorf("a sealed text stands under its signature:\n%s", part)
		}
	}
	if n := strings.Count(record, "SHA-256 `"); n != 2 {
		t.Errorf("%d payloads have a hash", n)
	}
	var b bytes.Buffer
	if err := Markdown(&b, sample("word"), Options{By: posterKey, At: time.Unix(0, 0), Closed: true}); err != nil {
		t.Fatal(err)
	}
	if closed := b.String(); strings.Contains(closed, "## Sealed texts") || strings.Count(closed, "What it says was left out.") != 2 {
		t.Errorf("left out, and there:\n%s", closed)
	}
}

// TestEventsStandAsRelaysTakeThem: a move stands after the one it follows even
// if it is dated before it, and its author's entry after the move.
func TestEventsStandAsRelaysTakeThem(t *testing.T) {
	signed := func(id, by string, at int64) *nostr.Event {
		return &nostr.Event{ID: strings.Repeat(id, 64), PubKey: by, CreatedAt: nostr.Timestamp(at), Tags: nostr.Tags{}}
	}
	move := func(id, by string, at int64) contract.Move {
		return contract.Move{By: by, CreatedAt: at, Event: signed(id, by, at), Follows: true}
	}
	entry := func(id, by string, at int64) contract.Entry {
		return contract.Entry{Author: contract.Party{PubKey: by}, CreatedAt: at, Event: signed(id, by, at), Signature: contract.SignatureHolds}
	}
	th := contract.Thread{
		Moves:   []contract.Move{move("c", posterKey, 130), move("b", workerKey, 100), move("a", posterKey, 140)},
		Entries: []contract.Entry{entry("1", workerKey, 101), entry("0", posterKey, 140)},
	}
	got := ""
	for _, ev := range Signed(th) {
		got += ev.ID[:1]
	}
	if got != "cb1a0" {
		t.Errorf("events %s", got)
	}
}
