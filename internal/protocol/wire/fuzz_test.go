package wire

import (
	"encoding/json"
	"errors"
	"reflect"
	"testing"
	"unicode/utf8"

	"github.com/nbd-wtf/go-nostr"
)

func eventSeeds() []string {
	return []string{
		object(members()...), `{}`, `null`, with(3, `"kind":1e0`), with(4, `"tags":[["d"]]`), with(4, `"tags":[[]]`),
		with(5, `"content":"\ud83d\ude00\u0000"`), with(5, "\"content\":\"\xff\""),
		with(5, `"content":"\u0001\u001f\n\"\\\u007f\u2028"`), with(4, `"tags":[["\u0002","\t"],[""]]`),
		object(append(members(), `"x":{"a":[1,{"a":null}],"a":-0.5E+9}`)...), object(append(members(), `"\u0069d":1`)...),
	}
}

func FuzzParseEvent(f *testing.F) {
	for _, s := range eventSeeds() {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		checkAgainstOracle(t, b)
		ev, err := ParseEvent(b)
		if err != nil {
			var shape *ShapeError
			if !errors.As(err, &shape) || !utf8.ValidString(shape.ID) || !utf8.ValidString(shape.Reason) {
				t.Fatalf("error %#v", err)
			}
			return
		}
		// encoding/json ignores case in names; where both accept, they agree.
		var loose map[string]json.RawMessage
		if err := json.Unmarshal(b, &loose); err != nil {
			t.Fatalf("encoding/json refuses %q: %v", b, err)
		}
		var content string
		var tags [][]string
		if json.Unmarshal(loose["content"], &content) != nil || content != ev.Content {
			t.Fatalf("content %q, encoding/json says %q", ev.Content, content)
		}
		if json.Unmarshal(loose["tags"], &tags) != nil || len(tags) != len(ev.Tags) {
			t.Fatalf("tags %q, encoding/json says %q", ev.Tags, tags)
		}
		again, err := ParseEvent(AppendEvent(nil, ev))
		if err != nil || !equalEvents(ev, again) {
			t.Fatalf("%q does not come back: %v, %v", b, again, err)
		}
		if ID(ev) != ev.GetID() {
			t.Fatalf("the id of %q differs from go-nostr's", b)
		}
		_ = Verify(ev)
		if is, says := len(AppendEvent(nil, ev)), Size(ev); says < is || says > is+40+len(ev.Tags) {
			t.Fatalf("Size(%q) = %d, it has %d bytes", b, says, is)
		}
	})
}

func FuzzVerify(f *testing.F) {
	f.Add(testID, testKey, testSig, "content", 1, int64(1700000000))
	f.Fuzz(func(t *testing.T, id, key, sig, content string, kind int, at int64) {
		ev := &nostr.Event{ID: id, PubKey: key, Sig: sig, Content: content, Kind: kind, CreatedAt: nostr.Timestamp(at)}
		_ = Verify(ev)
		ev.ID = ev.GetID()
		_ = Verify(ev)
	})
}

func FuzzParseFilter(f *testing.F) {
	for _, s := range []string{
		`{}`, `{"ids":["` + testID + `"],"#p":["a"],"kinds":[1,65535],"since":1,"until":2,"limit":0,"search":"a b:c"}`,
		`{"kinds":null}`, `{"#\u0070":["\ud83d\ude00"]}`, `{"authors":[],"authors":[]}`, `{"limit":1e3}`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		got, err := ParseFilter(b, Limits{FilterValues: 50})
		if err != nil {
			if !utf8.ValidString(err.Error()) {
				t.Fatalf("error %q is not UTF-8", err)
			}
			return
		}
		var keys map[string]json.RawMessage
		if err := json.Unmarshal(b, &keys); err != nil {
			t.Fatalf("encoding/json refuses %q: %v", b, err)
		}
		for key, raw := range keys {
			checkFilterKey(t, got, key, raw)
		}
		if n := len(got.IDs) + len(got.Authors) + len(got.Kinds); n > 50 {
			t.Fatalf("%d values got through", n)
		}
	})
}

// checkFilterKey compares one key with what encoding/json reads from it.
func checkFilterKey(t *testing.T, f nostr.Filter, key string, raw json.RawMessage) {
	t.Helper()
	var got, want any
	switch key {
	case "ids":
		got, want = f.IDs, &[]string{}
	case "authors":
		got, want = f.Authors, &[]string{}
	case "kinds":
		got, want = f.Kinds, &[]int{}
	case "since":
		got, want = *f.Since, new(nostr.Timestamp)
	case "until":
		got, want = *f.Until, new(nostr.Timestamp)
	case "limit":
		got, want = f.Limit, new(int)
	case "search":
		return // extensions are dropped
	default:
		got, want = f.Tags[key[1:]], &[]string{}
	}
	if err := json.Unmarshal(raw, want); err != nil {
		t.Fatalf("encoding/json refuses %s of %s: %v", key, raw, err)
	}
	if w := reflect.ValueOf(want).Elem().Interface(); !reflect.DeepEqual(got, w) {
		t.Fatalf("%s read as %v, encoding/json says %v", key, got, w)
	}
}

func FuzzParseFrame(f *testing.F) {
	for _, s := range eventSeeds() {
		f.Add([]byte(`["EVENT",` + s + `]`))
	}
	for _, s := range []string{
		`["REQ","s",{}]`, `["COUNT","s",{"kinds":[1]},{}]`, `["CLOSE","\u0000"]`, `["AUTH",{}]`, `["REQ"]`, `[]`, `["X"]`,
		`["REQ","",{}]`, `[[[[[[`, `["NEG-OPEN","s",{"kinds":[1]},"6100000200"]`, `["NEG-MSG","\u0022","6100"]`, `["NEG-MSG","s","6",1e3]`, `["NEG-CLOSE","s"]`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		frame, err := ParseFrame(b, Limits{Filters: 3, FilterValues: 50})
		var fault *FrameError
		switch {
		case err == nil:
			if !json.Valid(b) || !utf8.Valid(b) {
				t.Fatalf("%q was taken and is no JSON", b)
			}
			if needsSub := frame.Label != LabelEvent && frame.Label != LabelAuth; needsSub != (frame.SubID != "") || needsSub == (frame.Event != nil) {
				t.Fatalf("%q read as %+v", b, frame)
			}
			if negentropy := frame.Label == LabelNegOpen || frame.Label == LabelNegMsg; negentropy != (len(frame.Message) > 0) || len(frame.Message) > len(b)/2 {
				t.Fatalf("%q has the message %x", b, frame.Message)
			}
			if len(frame.SubID) > 64 || len(frame.Filters) > 3 {
				t.Fatalf("%q is over a bound: %+v", b, frame)
			}
		case !errors.As(err, &fault):
			t.Fatalf("error %#v", err)
		default:
			for _, answer := range [][]byte{
				AppendOK(nil, fault.EventID, false, fault.Reason), AppendClosed(nil, fault.SubID, fault.Reason), AppendNegErr(nil, fault.SubID, fault.Reason),
			} {
				if !json.Valid(answer) || !utf8.Valid(answer) {
					t.Fatalf("the answer to %q is %q", b, answer)
				}
			}
		}
	})
}
