package recovery_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"unicode"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/relay/daemon/recovery"
	"engramd/internal/relay/store"
	"engramd/internal/relay/store/sqlite"
	"engramd/internal/relay/store/sqlite/storetest"
)

var alice, bob = storetest.NewKey("alice"), storetest.NewKey("bob")

// only returns the ids and the commands of what one store has and others have not.
func only(t *testing.T, from *sqlite.Store, others ...*sqlite.Store) (ids []string, commands string, found recovery.Found) {
	t.Helper()
	var events bytes.Buffer
	found, err := recovery.Only(t.Context(), from, others, &events)
	if err != nil {
		t.Fatal(err)
	}
	for line := range bytes.Lines(events.Bytes()) {
		var ev nostr.Event
		if err := json.Unmarshal(line, &ev); err != nil {
			t.Fatal(err)
		}
		if !ev.CheckID() || len(ev.Sig) != 128 {
			t.Fatalf("%s is not a signed event", line)
		}
		ids = append(ids, ev.ID)
	}
	for _, all := range found.Unsigned {
		commands += strings.Join(all, "\n") + "\n"
	}
	return ids, commands, found
}

// What only one database has is found, whatever it is: events, superseded versions,
// events that are not taken yet, and what no event says.
func TestOnly(t *testing.T) {
	ours, theirs, third := storetest.MustOpen(t), storetest.MustOpen(t), storetest.MustOpen(t)
	var want []string
	put := func(to []*sqlite.Store, all ...*nostr.Event) {
		for _, ev := range all {
			for _, s := range to {
				if r := s.Put(t.Context(), ev, store.PutOptions{}); r.Outcome != store.Stored && r.Outcome != store.Replaced {
					t.Fatalf("%v", r)
				}
			}
			if !slices.Contains(to, ours) {
				want = append(want, ev.ID)
			}
		}
	}
	all := []*sqlite.Store{ours, theirs, third}
	for _, s := range all {
		storetest.Dispute(t, s)
	}
	put(all, alice.Note(1, "everybody's"), alice.Engram(bob, 2, "first"))
	put(all[:1], alice.Note(3, "ours"))
	for i := range int64(1100) { // more than are looked up at a time
		put(all[1:2], alice.Note(10+i, "theirs"))
	}
	put(all[1:2], alice.Engram(bob, 2000, "first"), alice.Engram(bob, 2001, "first"))
	put(all[1:], alice.Note(2002, "of both others"))
	waiting := alice.Entry(bob, 2003, "waits", "not taken yet")
	entry := store.ThreadEntry{Author: alice.Pub, Other: bob.Pub, CreatedAt: int64(waiting.CreatedAt), ID: []byte(waiting.ID)[:32], Type: "message", Entry: "mem_000000000001", Data: []byte(waiting.String())}
	hash := [32]byte{7}
	params := `["` + bob.Pub + `","it's spam; $(reboot)\u202e"]`
	p, err := theirs.ContractBetween(t.Context(), "c", alice.Pub, bob.Pub)
	if err != nil || p == nil {
		t.Fatal(p, err)
	}
	for _, c := range []store.Command{
		store.AddWaitingEntry{Contract: "waits", Entry: entry},
		store.AddPrivateEntry{Contract: "c", Entry: store.ThreadEntry{Author: alice.Pub, Other: bob.Pub, CreatedAt: 9, ID: hash[:], Form: store.EntryPrivate, Type: "note", Entry: "mem_000000000002", Data: []byte("sealed")}, Most: 9},
		store.AddAgent{Agent: store.Agent{ID: "bound", PubKey: alice.Pub}},
		store.AddAgent{Agent: store.Agent{ID: "kept", PubKey: bob.Pub, Sealed: []byte("sealed")}, Token: hash},
		store.Administer{Change: &store.AdminEntry{List: store.AdminPubkeys, Key: bob.Pub, Verdict: store.AdminBanned}, Call: store.AdminCall{Key: alice.Pub, Auth: alice.Pub, Method: "banpubkey", Params: &params, Outcome: "ok"}},
		store.Administer{Call: store.AdminCall{Key: alice.Pub, Auth: bob.Pub, Method: "listbannedpubkeys", Outcome: "ok"}},
		store.DecideContract{Contract: "c", Poster: p.Poster, Worker: p.Worker, Decision: store.ContractDecision{Was: "disputed", Status: "completed", By: "operator", Note: "-n", At: 9}},
	} {
		if err := theirs.Tell(t.Context(), c); err != nil {
			t.Fatalf("%T: %v", c, err)
		}
	}
	want = append(want, waiting.ID)
	ids, commands, found := only(t, theirs, ours)
	slices.Sort(ids)
	slices.Sort(want)
	if !slices.Equal(ids, want) || found.Events != len(want) {
		t.Errorf("%d events, want %d", len(ids), len(want))
	}
	for _, line := range []string{
		`engramctl admin call banpubkey '"` + bob.Pub + `"' '"it'\''s spam; $(reboot)\u202e"'`,
		"engramctl identity bind bound # by the agent, with its key " + alice.Pub,
		"engramctl identity provision kept kept.secret",
		"engramctl identity token renew kept kept.token",
		"engramctl contract say --visibility=private --type=note -- c - # by " + alice.Pub + ": its text is sealed in that database",
		"engramctl contract decide --note=-n -- c completed",
	} {
		if !strings.Contains(commands, line+"\n") {
			t.Errorf("no line %s in\n%s", line, commands)
		}
	}
	if n := strings.Count(commands, "\n"); n != 6 || strings.Contains(commands, "0700") {
		t.Errorf("%d commands:\n%s", n, commands)
	}
	if ids, _, _ := only(t, theirs, ours, third); len(ids) != len(want)-1 {
		t.Errorf("%d events that no other one has", len(ids))
	}
	if ids, commands, found := only(t, ours, theirs); len(ids) != 1 || commands != "" || len(found.Unsigned) > 0 {
		t.Errorf("of ours %v, %s", ids, commands)
	}
}

// What is printed for a shell is one word, whoever wrote it, and shows all that it is.
func TestCommandIsOneLineOfAShell(t *testing.T) {
	for _, text := range []string{"", "plain", "two words", "it's", "$(reboot)", "`reboot`", "a;b", "-f", "\\", `"`, "#"} {
		line := recovery.Command(store.Unsigned{Kind: store.UnsignedDecision, Row: []string{text, "completed", text}})
		line = strings.Replace(line, "engramctl contract decide", "printf '%s\n'", 1)
		out, err := exec.Command("sh", "-c", line).Output()
		if want := "--note=" + text + "\n--\n" + text + "\ncompleted\n"; err != nil || string(out) != want {
			t.Errorf("%s: %q, %v", line, out, err)
		}
	}
	line := recovery.Command(store.Unsigned{Kind: store.UnsignedToken, Row: []string{"a\nreboot\x1b[2J\u202e", "hash"}})
	if strings.ContainsAny(line, "\n\x1b\u202e") || strings.Contains(line, "hash") {
		t.Errorf("%q", line)
	}
}

// A failure to write is one of the whole.
func TestOnlyFails(t *testing.T) {
	from := storetest.MustOpen(t)
	storetest.Put(t, from, alice.Note(1, "x"), store.Stored)
	if _, err := recovery.Only(t.Context(), from, []*sqlite.Store{storetest.MustOpen(t)}, broken{}); !errors.Is(err, errBroken) {
		t.Errorf("%v", err)
	}
}

var errBroken = errors.New("no room")

type broken struct{}

func (broken) Write([]byte) (int, error) { return 0, errBroken }

// What lies in another node's database makes one line, of which a terminal hides nothing.
func FuzzCommand(f *testing.F) {
	f.Add("banpubkey", `["x","it's"]`, "c")
	f.Add("delete", `[{"kinds":[1]}]`, "\x1b[2J")
	f.Add("delete", "{", "\n")
	f.Fuzz(func(t *testing.T, a, b, c string) {
		for _, kind := range []store.UnsignedKind{store.UnsignedCall, store.UnsignedIdentity, store.UnsignedToken, store.UnsignedEntry, store.UnsignedDecision} {
			line := recovery.Command(store.Unsigned{Kind: kind, Row: []string{a, b, c, c, c}})
			if strings.IndexFunc(line, func(r rune) bool { return !unicode.IsPrint(r) }) >= 0 {
				t.Errorf("%q", line)
			}
			if strings.Count(strings.ReplaceAll(line, `\'`, ""), "'")%2 != 0 {
				t.Errorf("a word does not end: %s", line)
			}
		}
	})
}
