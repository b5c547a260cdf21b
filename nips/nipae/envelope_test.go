package nipae

import (
	"errors"
	"strings"
	"testing"

	"github.com/nbd-wtf/go-nostr"
)

func TestCheckEnvelopeAcceptsVectors(t *testing.T) {
	for _, ev := range vectorEvents(t) {
		if !ev.CheckID() {
			t.Fatalf("vector %s: the event is not the one that was published", ev.ID)
		}
		if ok, err := ev.CheckSignature(); !ok || err != nil {
			t.Fatalf("vector %s: signature %v, %v", ev.ID, ok, err)
		}
		if err := CheckEnvelope(ev); err != nil {
			t.Errorf("vector %s: %v", ev.ID, err)
		}
	}
}

func TestCheckEnvelope(t *testing.T) {
	good := vectorEvents(t)[0]
	d, p := good.Tags[0][1], good.Tags[1][1]
	tests := []struct {
		name string
		tags nostr.Tags
		ok   bool
	}{
		{"plain", nostr.Tags{{"d", d}, {"p", p}}, true},
		{"other order and tags", nostr.Tags{{"p", p}, {"alt", "agent memory"}, {"-"}, {"expiration", "1"}, {"e", "x"}, {"d", d}}, true},
		{"an agent may own itself", nostr.Tags{{"d", d}, {"p", good.PubKey}}, true},
		{"further elements", nostr.Tags{{"d", d, "x"}, {"p", p, "wss://relay", "name"}}, true},
		{"names in other case are other tags", nostr.Tags{{"d", d}, {"p", p}, {"D", "x"}, {"P", "x"}}, true},
		{"no tags", nil, false},
		{"no d", nostr.Tags{{"p", p}}, false},
		{"no p", nostr.Tags{{"d", d}}, false},
		{"two d", nostr.Tags{{"d", d}, {"d", d}, {"p", p}}, false},
		{"two p", nostr.Tags{{"d", d}, {"p", p}, {"p", good.PubKey}}, false},
		{"d without value", nostr.Tags{{"d"}, {"p", p}}, false},
		{"second d without value", nostr.Tags{{"d", d}, {"p", p}, {"d"}}, false},
		{"second p without value", nostr.Tags{{"d", d}, {"p"}, {"p", p}}, false},
		{"p without value", nostr.Tags{{"d", d}, {"p"}}, false},
		{"d empty", nostr.Tags{{"d", ""}, {"p", p}}, false},
		{"d upper case", nostr.Tags{{"d", strings.ToUpper(d)}, {"p", p}}, false},
		{"p upper case", nostr.Tags{{"d", d}, {"p", strings.ToUpper(p)}}, false},
		{"d a slug", nostr.Tags{{"d", "mem/example"}, {"p", p}}, false},
		{"d too long", nostr.Tags{{"d", d + "00"}, {"p", p}}, false},
		{"p an npub", nostr.Tags{{"d", d}, {"p", "npub10elfcs4fr0l0r8af98jlmgdh9c8tcxjvz9qkw038js35mp4dma8qzvjptg"}}, false},
		{"p with white space", nostr.Tags{{"d", d}, {"p", p[:63] + " "}}, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			ev := *good
			ev.Tags = tt.tags
			err := CheckEnvelope(&ev)
			if (err == nil) != tt.ok {
				t.Errorf("got %v", err)
			}
			if err != nil && !errors.Is(err, ErrEnvelope) {
				t.Errorf("%v is no ErrEnvelope", err)
			}
		})
	}
}

func TestCheckEnvelopeJudgesKindAndContent(t *testing.T) {
	good := vectorEvents(t)[0]
	other := *good
	other.Kind = 30078
	if err := CheckEnvelope(&other); !errors.Is(err, ErrEnvelope) {
		t.Errorf("kind 30078: %v", err)
	}
	plain := *good
	plain.Content = `{"slug":"core"}`
	if err := CheckEnvelope(&plain); !errors.Is(err, ErrEnvelope) || !errors.Is(err, ErrPayload) {
		t.Errorf("plain content: %v", err)
	}
}

// The text of an error goes to whoever sent the event, and into logs: it must
// not repeat tags.
func TestCheckEnvelopeRepeatsNothing(t *testing.T) {
	ev := *vectorEvents(t)[0]
	ev.Tags = nostr.Tags{{"d", "SECRET"}, {"p", "SECRET"}}
	if err := CheckEnvelope(&ev); err == nil || strings.Contains(err.Error(), "SECRET") {
		t.Errorf("got %v", err)
	}
}
