package memory

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"engramd/internal/client"
	"engramd/internal/client/clienttest"
	"engramd/internal/client/transfer"
	"engramd/internal/relay/http/bridgetest"
	"engramd/nips/nipae"
)

// Nothing that a client shows, in any verb, error, log line or trace, contains
// a secret key, and nothing that it sends contains a slug or a text in the
// clear.
func TestSecretsStaySecret(t *testing.T) {
	var tr transcript
	relays := []string{bridgetest.Start(t).URL, clienttest.StartHoard(t, &clienttest.Hoard{}), bridgetest.Down(t), hostileRelays(t)["a wrong signature"](t), clienttest.Refusing(t, "error: no")}
	show := func(o *client.Options) { tr.into(o); o.Timeout = patience }
	m := agentOf(t, "agent", "owner", relays, show)
	owner := ownerOf(t, "agent", "owner", relays, show)
	ctx := t.Context()
	const text, slug = "a text that nobody else reads", nipae.Slug("mem/a-private-slug")
	results := []any{}
	keep := func(values ...any) { results = append(results, values...) }
	keep(anys(m.Set(ctx, slug, text, SetOptions{}))...)
	keep(anys(m.Set(ctx, slug, strings.Repeat(text, 5000), SetOptions{}))...)
	keep(anys(owner.Set(ctx, slug, text, SetOptions{}))...)
	keep(anys(owner.Get(ctx, "mem/other"))...)
	keep(anys(owner.Log(ctx, slug))...)
	keep(anys(m.Restore(ctx, slug, When{ID: strings.Repeat("0", 64)}, nil))...)
	_, err := ApprovalsOf(owner.c).Allow(ctx, m.Agent())
	keep(err, owner.c.Discover(ctx, m.Agent()))
	moving := transfer.Transfer{Filters: transfer.EverythingOf(m.Agent(), 0), Clock: time.Now}
	for _, url := range relays {
		o := client.Options{}
		show(&o)
		p, err := transfer.NewPeer(who(t, "agent"), url, o)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(p.Close)
		moving.Sources = append(moving.Sources, p)
	}
	moving.Targets = moving.Sources
	moved, err := moving.Run(ctx)
	keep(moved, err, moving)
	for _, p := range moving.Sources {
		keep(p, p.Identity())
	}
	trace := tr.String()
	for _, private := range []string{text, string(slug), "a-private-slug"} {
		if strings.Contains(trace, private) {
			t.Errorf("%q is on the wire", private)
		}
	}
	log := slog.New(slog.NewJSONHandler(&tr, &slog.HandlerOptions{Level: slog.LevelDebug}))
	id := m.c.Identity()
	for _, v := range append(results, id, &id, m.c, m, *m, m.c.Options(), owner.c) {
		for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%d", "%x", "%q"} {
			fmt.Fprintf(&tr, verb, v)
		}
		log.Info("shown", "v", v)
		if b, err := json.Marshal(v); err == nil {
			tr.Write(b)
		}
	}
	if !strings.Contains(trace, `"AUTH"`) || !strings.Contains(trace, "GET http") || !strings.Contains(trace, `["EVENT"`) {
		t.Error("the transcript lacks what it should hold")
	}
	if strings.Contains(trace, "Nostr ") {
		t.Error("the trace holds a header that signs requests")
	}
	clienttest.MustHideSecrets(t, tr.String(), "agent", "owner")
	for _, key := range []nipae.ConversationKey{m.key(), owner.key()} {
		raw := key[:]
		for _, form := range []string{fmt.Sprintf("%x", raw), strings.Trim(fmt.Sprint(raw), "[]"), string(raw)} {
			if strings.Contains(tr.String(), form) {
				t.Error("the conversation key is shown")
			}
		}
	}
}

func anys[A, B any](a A, b B, err error) []any { return []any{a, b, err} }
