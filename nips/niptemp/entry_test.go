package niptemp

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/nbd-wtf/go-nostr"

	"engramd/nips/nip01"
)

const (
	contract    = "25becee1-e170-42e3-b8aa-51d3e864ce60"
	posterKey   = "209eb677df28875400000000000000000000000000000000000000000000000a"
	workerKey   = "7526b19f9b6f10c200000000000000000000000000000000000000000000000b"
	strangerKey = "000000000000000000000000000000000000000000000000000000000000000c"
)

// sealed is a NIP-44 payload by its shape.
func sealed() string {
	return base64.StdEncoding.EncodeToString(append([]byte{2}, make([]byte, 98)...))
}

// entry is a good entry of type message with the content.
func entry(content string, more ...nostr.Tag) *nostr.Event {
	return &nostr.Event{
		Kind: KindEntry, PubKey: posterKey, Content: content, CreatedAt: 1000,
		Tags: append(nostr.Tags{{"d", contract}, {"t", "message"}, {"p", workerKey}}, more...),
	}
}

func TestCheckEntryAcceptsContent(t *testing.T) {
	tests := []struct{ name, content string }{
		{"as published", `{"type":"message","content":"Focus on government filings..."}`},
		{"everything", `{"type":"message","content":"x","visibility":"shared","contract_id":"` + contract + `",
			"entry_id":"mem_94455aad8c17","author_agent_id":"agent-0000","attachments":["https://a.example/x?y=1","http://[::1]:8/z"]}`},
		{"no attachments", `{"type":"message","content":"x","attachments":[]}`},
		{"unknown fields", `{"type":"message","content":"x","Type":"note","nested":{"a":[1,null]}}`},
		{"white space around", " \n{\"type\":\"message\",\"content\":\"x\"}\t"},
		{"escaped", `{"\u0074ype":"messag\u0065","content":"\ud83d\ude00"}`},
		{"sealed", sealed()},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if err := CheckEntry(entry(tt.content, nostr.Tag{"agentry:entry", "mem_94455aad8c17"})); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestCheckEntryRefusesContent(t *testing.T) {
	tests := []struct{ name, content, says string }{
		{"poster only", `{"type":"message","content":"x","visibility":"poster_only"}`, "invalid: private entries are not published"},
		{"worker only", `{"type":"message","content":"x","visibility":"worker_only"}`, "invalid: private entries are not published"},
		{"private and wrong in other ways", `{"visibility":"poster_only"}`, "invalid: private entries are not published"},
		{"private by escape", `{"type":"message","content":"x","visibility":"p\u006fster_only"}`, "invalid: private entries are not published"},
		{"unknown visibility", `{"type":"message","content":"x","visibility":"public"}`, "visibility"},
		{"visibility empty", `{"type":"message","content":"x","visibility":""}`, "visibility"},
		{"visibility null", `{"type":"message","content":"x","visibility":null}`, `"visibility" must be a string`},
		{"empty", ``, "must be a JSON object"},
		{"text", `hello`, "must be a JSON object"},
		{"array", `["message"]`, "must be a JSON object"},
		{"null", `null`, "must be a JSON object"},
		{"cut off", `{"type":"message"`, "not one valid JSON object"},
		{"two objects", `{"type":"message","content":"x"}{}`, "not one valid JSON object"},
		{"garbage behind", `{"type":"message","content":"x"} x`, "not one valid JSON object"},
		{"duplicate name", `{"type":"message","content":"x","content":"y"}`, "twice"},
		{"duplicate name by escape", `{"type":"message","content":"x","c\u006fntent":"y"}`, "twice"},
		{"duplicate name of an unknown field", `{"type":"message","content":"x","a":1,"a":2}`, "twice"},
		{"duplicate name deep down", `{"type":"message","content":"x","a":[{"b":1,"b":2}]}`, "twice"},
		{"lone surrogate", `{"type":"message","content":"\ud83d"}`, "not one valid JSON object"},
		{"invalid UTF-8", "{\"type\":\"message\",\"content\":\"\xff\"}", "not one valid JSON object"},
		{"type missing", `{"content":"x"}`, `"type" differs`},
		{"type differs from t", `{"type":"note","content":"x"}`, `"type" differs`},
		{"type in other case", `{"Type":"message","content":"x"}`, `"type" differs`},
		{"type null", `{"type":null,"content":"x"}`, `"type" must be a string`},
		{"content missing", `{"type":"message"}`, `"content" must be a non-empty string`},
		{"content empty", `{"type":"message","content":""}`, `"content" must be a non-empty string`},
		{"content object", `{"type":"message","content":{}}`, `"content" must be a string`},
		{"contract_id differs", `{"type":"message","content":"x","contract_id":"other"}`, `"contract_id" differs`},
		{"contract_id number", `{"type":"message","content":"x","contract_id":1}`, `"contract_id" must be a string`},
		{"entry_id differs", `{"type":"message","content":"x","entry_id":"other"}`, `"entry_id" differs`},
		{"entry_id null", `{"type":"message","content":"x","entry_id":null}`, `"entry_id" must be a string`},
		{"author_agent_id number", `{"type":"message","content":"x","author_agent_id":1}`, `"author_agent_id" must be a string`},
		{"attachments a string", `{"type":"message","content":"x","attachments":"https://a.example"}`, `"attachments" must be an array`},
		{"attachments null", `{"type":"message","content":"x","attachments":null}`, `"attachments" must be an array`},
		{"attachment a number", `{"type":"message","content":"x","attachments":["https://a.example",1]}`, `"attachments" must be an array`},
		{"attachment relative", `{"type":"message","content":"x","attachments":["/x"]}`, `"attachments" must hold absolute`},
		{"attachment without scheme", `{"type":"message","content":"x","attachments":["//a.example/x"]}`, `"attachments" must hold absolute`},
		{"attachment without host", `{"type":"message","content":"x","attachments":["https:///x"]}`, `"attachments" must hold absolute`},
		{"attachment with a port only", `{"type":"message","content":"x","attachments":["https://:80/x"]}`, `"attachments" must hold absolute`},
		{"attachment opaque", `{"type":"message","content":"x","attachments":["https:a.example"]}`, `"attachments" must hold absolute`},
		{"attachment of another scheme", `{"type":"message","content":"x","attachments":["javascript:alert(1)"]}`, `"attachments" must hold absolute`},
		{"attachment ftp", `{"type":"message","content":"x","attachments":["ftp://a.example/x"]}`, `"attachments" must hold absolute`},
		{"attachment empty", `{"type":"message","content":"x","attachments":[""]}`, `"attachments" must hold absolute`},
		{"payload with a line break", sealed() + "\n", "must be a JSON object"},
		{"payload cut off", sealed()[4:], "must be a JSON object"},
		{"payload of another version", "Aw" + sealed()[2:], "must be a JSON object"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			err := CheckEntry(entry(tt.content, nostr.Tag{"agentry:entry", "mem_94455aad8c17"}))
			checkRefusal(t, err, "invalid", tt.says)
		})
	}
}

// checkRefusal checks that err is a Refusal with the prefix that says the text.
func checkRefusal(t *testing.T, err error, prefix, says string) {
	t.Helper()
	var refusal *nip01.Refusal
	if !errors.As(err, &refusal) {
		t.Errorf("got %v, want a refusal", err)
		return
	}
	if refusal.Prefix != prefix || !strings.HasPrefix(err.Error(), prefix+": ") || !strings.Contains(err.Error(), says) {
		t.Errorf("got %q, want %s: … %s", err, prefix, says)
	}
}

func TestCheckEntryTags(t *testing.T) {
	d, typ, p := nostr.Tag{"d", contract}, nostr.Tag{"t", "message"}, nostr.Tag{"p", workerKey}
	tests := []struct {
		name, says string // says is empty where the tags are good
		tags       nostr.Tags
	}{
		{"plain", "", nostr.Tags{d, typ, p}},
		{"as published", "", nostr.Tags{d, typ, p, {"agentry:contract", contract}, {"agentry:entry", "mem_1"}, {"agentry:author", "agent-0000"}}},
		{"to himself", "", nostr.Tags{d, typ, {"p", posterKey}}},
		{"longest id", "", nostr.Tags{{"d", strings.Repeat("~", 128)}, typ, p}},
		{"shortest id", "", nostr.Tags{{"d", "!"}, typ, p}},
		{"URLs", "", nostr.Tags{d, typ, p, {"r", "https://a.example/x"}, {"r", "magnet:?xt=1"}}},
		{"other tags", "", nostr.Tags{d, typ, p, {"e", "x"}, {"expiration", "99"}, {"-"}, {"T"}}},
		{"no d", "exactly one d tag, not 0", nostr.Tags{typ, p}},
		{"two d", "exactly one d tag, not 2", nostr.Tags{d, d, typ, p}},
		{"second d without value", "exactly one d tag, not 2", nostr.Tags{d, {"d"}, typ, p}},
		{"d empty", "1 to 128 bytes", nostr.Tags{{"d", ""}, typ, p}},
		{"d without value", "1 to 128 bytes", nostr.Tags{{"d"}, typ, p}},
		{"d too long", "1 to 128 bytes", nostr.Tags{{"d", strings.Repeat("a", 129)}, typ, p}},
		{"d with a space", "printable ASCII", nostr.Tags{{"d", "a b"}, typ, p}},
		{"d with a control character", "printable ASCII", nostr.Tags{{"d", "a\x7f"}, typ, p}},
		{"d beyond ASCII", "printable ASCII", nostr.Tags{{"d", "é"}, typ, p}},
		{"no t", "exactly one t tag, not 0", nostr.Tags{d, p}},
		{"two t", "exactly one t tag, not 2", nostr.Tags{d, typ, {"t", "extra"}, p}},
		{"t unknown", "must be one of message,", nostr.Tags{d, {"t", "Message"}, p}},
		{"t without value", "must be one of message,", nostr.Tags{d, {"t"}, p}},
		{"no p", "exactly one p tag, not 0", nostr.Tags{d, typ}},
		{"two p", "exactly one p tag, not 2", nostr.Tags{d, typ, p, {"p", strangerKey}}},
		{"second p without value", "exactly one p tag, not 2", nostr.Tags{d, typ, p, {"p"}}},
		{"p upper case", "64 lower-case hex", nostr.Tags{d, typ, {"p", strings.ToUpper(workerKey)}}},
		{"p short", "64 lower-case hex", nostr.Tags{d, typ, {"p", "7526b19f9b6f10c2"}}},
		{"agentry:contract differs", "differs from the d tag", nostr.Tags{d, typ, p, {"agentry:contract", "other"}}},
		{"agentry:contract without value", "one agentry:contract tag, with a value", nostr.Tags{d, typ, p, {"agentry:contract"}}},
		{"agentry:entry twice", "one agentry:entry tag", nostr.Tags{d, typ, p, {"agentry:entry", "a"}, {"agentry:entry", "a"}}},
		{"agentry:author empty", "one agentry:author tag", nostr.Tags{d, typ, p, {"agentry:author", ""}}},
		{"r without value", "absolute URL", nostr.Tags{d, typ, p, {"r"}}},
		{"r no URL", "absolute URL", nostr.Tags{d, typ, p, {"r", "x"}}},
		{"r with a bad escape", "absolute URL", nostr.Tags{d, typ, p, {"r", "https://a/%zz"}}},
	}
	for _, tt := range tests {
		for _, content := range []string{`{"type":"message","content":"x"}`, sealed()} {
			ev := entry(content)
			ev.Tags = tt.tags
			err := CheckEntry(ev)
			if tt.says != "" {
				checkRefusal(t, err, "invalid", tt.says)
			} else if err != nil {
				t.Errorf("%s: %v", tt.name, err)
			}
		}
	}
}

func TestCheckEntryTypes(t *testing.T) {
	types := EntryTypes()
	if want := []string{"message", "revision", "deliverable", "note", "attachment"}; !slices.Equal(types, want) {
		t.Fatalf("types %v", types)
	}
	for _, typ := range types {
		ev := entry(`{"type":"` + typ + `","content":"x"}`)
		ev.Tags[1][1] = typ
		if err := CheckEntry(ev); err != nil {
			t.Errorf("%s: %v", typ, err)
		}
	}
	ev := entry(sealed())
	ev.Kind = KindState
	checkRefusal(t, CheckEntry(ev), "invalid", "kind 30091")
}

func TestIsSealed(t *testing.T) {
	ev := entry(sealed())
	if !IsSealed(ev) {
		t.Error("a payload is not seen as sealed")
	}
	ev.Kind = KindState
	if IsSealed(ev) {
		t.Error("a state is seen as sealed")
	}
	if IsSealed(entry(`{"type":"message","content":"x"}`)) {
		t.Error("plain content is seen as sealed")
	}
}

func FuzzCheckEntry(f *testing.F) {
	for _, s := range []string{
		`{"type":"message","content":"x"}`, sealed(), `{"type":"message","content":"x","visibility":"poster_only"}`,
		`{"type":"message","content":"x","attachments":["https://a.example"]}`, `{"a":1,"a":2}`, `{"type":"message","content":"\ud83d"}`,
	} {
		f.Add(s, contract, "mem_1")
	}
	f.Fuzz(func(t *testing.T, content, d, entryTag string) {
		ev := entry(content, nostr.Tag{"agentry:entry", entryTag})
		ev.Tags[0][1] = d
		if CheckEntry(ev) != nil || IsSealed(ev) {
			return
		}
		// What is accepted is what a client's JSON library reads, too.
		var got map[string]any
		if err := json.Unmarshal([]byte(content), &got); err != nil {
			t.Fatalf("encoding/json refuses %q: %v", content, err)
		}
		if got["type"] != "message" || got["content"] == "" || got["content"] == nil {
			t.Fatalf("accepted %q", content)
		}
		if v, ok := got["visibility"]; ok && v != "shared" {
			t.Fatalf("accepted visibility %v", v)
		}
		if v, ok := got["contract_id"]; ok && v != d {
			t.Fatalf("accepted contract_id %v for %q", v, d)
		}
	})
}
