package wire

import (
	"errors"
	"reflect"
	"strings"
	"testing"

	"github.com/nbd-wtf/go-nostr"
)

func TestParseFrameAccepts(t *testing.T) {
	event := object(members()...)
	tests := []struct {
		name, in, label, sub string
		filters              []nostr.Filter
		event                bool
	}{
		{"event", `["EVENT",` + event + `]`, "EVENT", "", nil, true},
		{"auth", ` [ "AUTH" , ` + event + " ] \n", "AUTH", "", nil, true},
		{"req", `["REQ","s",{"kinds":[1]},{}]`, "REQ", "s", []nostr.Filter{{Kinds: []int{1}}, {}}, false},
		{"count", `["COUNT","s",{}]`, "COUNT", "s", []nostr.Filter{{}}, false},
		{"close", `["CLOSE","s"]`, "CLOSE", "s", nil, false},
		{"negentropy opened", `["NEG-OPEN","s",{"kinds":[1]},"6100000200"]`, "NEG-OPEN", "s", []nostr.Filter{{Kinds: []int{1}}}, false},
		{"negentropy of an array", `["NEG-OPEN","s",[{"kinds":[1]}],"6100000200"]`, "NEG-OPEN", "s", []nostr.Filter{{Kinds: []int{1}}}, false},
		{"negentropy goes on", `["NEG-MSG","\"s","61"]`, "NEG-MSG", `"s`, nil, false},
		{"negentropy escaped", `["NEG-MSG","s","\u0036100000200"]`, "NEG-MSG", "s", nil, false},
		{"negentropy closed", `["NEG-CLOSE","s"]`, "NEG-CLOSE", "s", nil, false},
		{"label escaped", `["\u0052EQ","s",{}]`, "REQ", "s", []nostr.Filter{{}}, false},
		{"sub unescaped", `["CLOSE","\"\u00e9\n"]`, "CLOSE", "\"é\n", nil, false},
		{"longest sub", `["CLOSE","` + strings.Repeat("é", 32) + `"]`, "CLOSE", strings.Repeat("é", 32), nil, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			f, err := ParseFrame([]byte(tt.in), Limits{Filters: 2})
			if err != nil {
				t.Fatal(err)
			}
			if f.Label != tt.label || f.SubID != tt.sub || (f.Event != nil) != tt.event || !reflect.DeepEqual(f.Filters, tt.filters) {
				t.Errorf("read %+v", f)
			}
			if want := map[string]string{"NEG-OPEN": "\x61\x00\x00\x02\x00", "NEG-MSG": "\x61"}[f.Label]; !strings.HasPrefix(string(f.Message), want) || (f.Message != nil) != (want != "") {
				t.Errorf("message %x", f.Message)
			}
		})
	}
}

func TestParseFrameRefuses(t *testing.T) {
	event := object(members()...)
	tests := []struct {
		name, in string
		want     FrameError // its Reason is part of the one that is given
	}{
		{"empty", ``, FrameError{Reason: "must be a JSON array"}},
		{"object", event, FrameError{Reason: "must be a JSON array"}},
		{"no label", `[]`, FrameError{Reason: "must start with its label"}},
		{"label no string", `[1]`, FrameError{Reason: "must start with its label"}},
		{"unknown label", `["HELLO",1]`, FrameError{Reason: `unknown message "HELLO"`}},
		{"label in lower case", `["req","s",{}]`, FrameError{Reason: `unknown message "req"`}},
		{"negentropy in lower case", `["neg-open","s",{},"00"]`, FrameError{Reason: `unknown message "neg-open"`}},
		{"negentropy without sub", `["NEG-OPEN"]`, FrameError{Label: "NEG-OPEN", Reason: "needs a subscription id"}},
		{"negentropy of a number", `["NEG-MSG",1,"61"]`, FrameError{Label: "NEG-MSG", Reason: "must be a string"}},
		{"negentropy, sub too long", `["NEG-OPEN","` + strings.Repeat("a", 65) + `",{},"61"]`, FrameError{Label: "NEG-OPEN", Reason: "1 to 64 bytes"}},
		{"negentropy cut off", `["NEG-OPEN","s",{}`, FrameError{Label: "NEG-OPEN", SubID: "s", Reason: "ends where"}},
		{"negentropy and garbage", `["NEG-MSG","s","61"]x`, FrameError{Label: "NEG-MSG", SubID: "s", Reason: "trailing data"}},
		{"negentropy, no JSON", `["NEG-OPEN","s",{],"61"]`, FrameError{Label: "NEG-OPEN", SubID: "s", Reason: "expected"}},
		{"negentropy too deep", `["NEG-OPEN","s",` + strings.Repeat("[", 3000), FrameError{Label: "NEG-OPEN", SubID: "s", Reason: "must be a JSON object"}},
		{"negentropy of an older draft", `["NEG-OPEN","s",{},16,"61"]`, FrameError{Label: "NEG-OPEN", SubID: "s", Reason: "must be a string"}},
		{"negentropy of no filters", `["NEG-OPEN","s",[],"61"]`, FrameError{Label: "NEG-OPEN", SubID: "s", Reason: "no filter"}},
		{"negentropy of several filters", `["NEG-OPEN","s",[{},{}],"61"]`, FrameError{Label: "NEG-OPEN", SubID: "s", Reason: "one filter"}},
		{"negentropy of an unknown key", `["NEG-OPEN","s",{"kind":[1]},"61"]`, FrameError{Label: "NEG-OPEN", SubID: "s", Reason: `"kind": unknown`}},
		{"negentropy of too many values", `["NEG-OPEN","s",{"kinds":[1,2,3,4]},"61"]`, FrameError{Label: "NEG-OPEN", SubID: "s", Reason: "at most 3"}},
		{"negentropy without a filter", `["NEG-OPEN","s"]`, FrameError{Label: "NEG-OPEN", SubID: "s", Reason: "needs a filter"}},
		{"negentropy without a message", `["NEG-OPEN","s",{}]`, FrameError{Label: "NEG-OPEN", SubID: "s", Reason: "needs a message"}},
		{"negentropy with no message", `["NEG-MSG","s"]`, FrameError{Label: "NEG-MSG", SubID: "s", Reason: "needs a message"}},
		{"negentropy of null", `["NEG-MSG","s",null]`, FrameError{Label: "NEG-MSG", SubID: "s", Reason: "must be a string"}},
		{"negentropy of nothing", `["NEG-MSG","s",""]`, FrameError{Label: "NEG-MSG", SubID: "s", Reason: "hex"}},
		{"negentropy in upper case", `["NEG-MSG","s","6A"]`, FrameError{Label: "NEG-MSG", SubID: "s", Reason: "hex"}},
		{"negentropy of half a byte", `["NEG-MSG","s","610"]`, FrameError{Label: "NEG-MSG", SubID: "s", Reason: "hex"}},
		{"negentropy with more", `["NEG-MSG","s","61",1]`, FrameError{Label: "NEG-MSG", SubID: "s", Reason: "nothing behind"}},
		{"negentropy with invalid UTF-8", "[\"NEG-MSG\",\"s\",\"\xff\"]", FrameError{Label: "NEG-MSG", SubID: "s", Reason: "invalid UTF-8"}},
		{"negentropy closed with more", `["NEG-CLOSE","s",1]`, FrameError{Label: "NEG-CLOSE", SubID: "s", Reason: "nothing else"}},
		{"event missing", `["EVENT"]`, FrameError{Label: "EVENT", Reason: "needs an event"}},
		{"event null", `["EVENT",null]`, FrameError{Label: "EVENT", Reason: "must be a JSON object"}},
		{"event bad", `["EVENT",` + with(3, `"kind":-1`) + `]`, FrameError{Label: "EVENT", EventID: testID, Reason: `"kind"`}},
		{"event with more", `["EVENT",` + event + `,1]`, FrameError{Label: "EVENT", EventID: testID, Reason: "nothing else"}},
		{"event of a subscription", `["EVENT","s",` + event + `]`, FrameError{Label: "EVENT", Reason: "must be a JSON object"}},
		{"event and garbage", `["EVENT",` + event + `]]`, FrameError{Label: "EVENT", EventID: testID, Reason: "trailing data"}},
		{"event cut off", `["EVENT",` + event, FrameError{Label: "EVENT", EventID: testID, Reason: "ends where"}},
		{"auth with a challenge", `["AUTH","challenge"]`, FrameError{Label: "AUTH", Reason: "must be a JSON object"}},
		{"auth bad", `["AUTH",` + with(6, `"sig":""`) + `]`, FrameError{Label: "AUTH", EventID: testID, Reason: `"sig"`}},
		{"req without sub", `["REQ"]`, FrameError{Label: "REQ", Reason: "needs a subscription id"}},
		{"sub no string", `["REQ",1,{}]`, FrameError{Label: "REQ", Reason: "must be a string"}},
		{"sub null", `["COUNT",null,{}]`, FrameError{Label: "COUNT", Reason: "must be a string"}},
		{"sub empty", `["REQ","",{}]`, FrameError{Label: "REQ", Reason: "1 to 64 bytes"}},
		{"sub too long", `["REQ","` + strings.Repeat("a", 65) + `",{}]`, FrameError{Label: "REQ", Reason: "1 to 64 bytes"}},
		{"sub too long in bytes", `["REQ","` + strings.Repeat("é", 33) + `",{}]`, FrameError{Label: "REQ", Reason: "1 to 64 bytes"}},
		{"req without filter", `["REQ","s"]`, FrameError{Label: "REQ", SubID: "s", Reason: "needs a filter"}},
		{"req with a list of filters", `["REQ","s",[{}]]`, FrameError{Label: "REQ", SubID: "s", Reason: "must be a JSON object"}},
		{"req with a bad filter", `["REQ","s",{},{"kind":[1]}]`, FrameError{Label: "REQ", SubID: "s", Reason: `"kind": unknown`}},
		{"req with too many filters", `["REQ","s",{},{},{}]`, FrameError{Label: "REQ", SubID: "s", Reason: "at most 2"}},
		{"req with too many values", `["REQ","s",{"kinds":[1,2,3,4]}]`, FrameError{Label: "REQ", SubID: "s", Reason: "at most 3"}},
		{"req and garbage", `["REQ","s",{}]x`, FrameError{Label: "REQ", SubID: "s", Reason: "trailing data"}},
		{"req cut off", `["REQ","s",{}`, FrameError{Label: "REQ", SubID: "s", Reason: "ends where"}},
		{"req with invalid UTF-8", "[\"REQ\",\"s\",{\"#p\":[\"\xff\"]}]", FrameError{Label: "REQ", SubID: "s", Reason: "invalid UTF-8"}},
		{"close with more", `["CLOSE","s",{}]`, FrameError{Label: "CLOSE", SubID: "s", Reason: "nothing else"}},
		{"close without sub", `["CLOSE"]`, FrameError{Label: "CLOSE", Reason: "needs a subscription id"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := ParseFrame([]byte(tt.in), Limits{Filters: 2, FilterValues: 3})
			var got *FrameError
			if !errors.As(err, &got) {
				t.Fatalf("got %v, want a FrameError", err)
			}
			if !strings.Contains(got.Error(), tt.want.Reason) {
				t.Errorf("reason %q does not say %q", got.Reason, tt.want.Reason)
			}
			if got.Label != tt.want.Label || got.SubID != tt.want.SubID || got.EventID != tt.want.EventID {
				t.Errorf("got %+v, want %+v", *got, tt.want)
			}
		})
	}
}
