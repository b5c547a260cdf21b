package load

import (
	"bytes"
	"encoding/json"
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"

	"engramd/internal/protocol/wire"
)

const someID = "ffe1eb1ccb8fa8f4eb04bc5b2bc57ea6a27d8c2cfd8d1c7ee4fab43ca39b2b2e"

func TestParseMessage(t *testing.T) {
	event := `{"id":"` + someID + `","created_at":12,"content":"a\\\"}]","tags":[["a","{"],[]],"kind":1}`
	tests := []struct {
		in   string
		want Message
	}{
		{`["EVENT","q",` + event + `]`, Message{Label: LabelEvent, Sub: []byte("q"), ID: []byte(someID), CreatedAt: 12, Event: []byte(event)}},
		{" [\n\"EVENT\" , \"q\",\t" + event + ` , "more",{"a":[1]} ] `, Message{Label: LabelEvent, Sub: []byte("q"), ID: []byte(someID), CreatedAt: 12, Event: []byte(event)}},
		{`["OK","` + someID + `",true,""]`, Message{Label: LabelOK, ID: []byte(someID), OK: true, Text: []byte(`""`)}},
		{`["OK","` + someID + `",false,"a \"b\""]`, Message{Label: LabelOK, ID: []byte(someID), Text: []byte(`"a \"b\""`)}},
		{`["OK","` + someID + `",true]`, Message{Label: LabelOK, ID: []byte(someID), OK: true}},
		{`["EOSE","q"]`, Message{Label: LabelEOSE, Sub: []byte("q")}},
		{`["EOSE","q",["finish"]]`, Message{Label: LabelEOSE, Sub: []byte("q")}},
		{`["CLOSED","q","error: x"]`, Message{Label: LabelClosed, Sub: []byte("q"), Text: []byte(`"error: x"`)}},
		{`["COUNT","q",{"count":1000}]`, Message{Label: LabelCount, Sub: []byte("q"), Count: 1000}},
		{`["COUNT","q",{"hll":"00","approximate":false,"count":7}]`, Message{Label: LabelCount, Sub: []byte("q"), Count: 7}},
		{`["AUTH","c"]`, Message{Label: LabelAuth, Text: []byte(`"c"`)}},
		{`["NOTICE","c"]`, Message{Label: LabelNotice, Text: []byte(`"c"`)}},
		{`["EVENT","q",{"id":"` + someID + `"}]`, Message{Label: LabelEvent, Sub: []byte("q"), ID: []byte(someID), Event: []byte(`{"id":"` + someID + `"}`)}},
		{`["NEG-MSG",1,null,-1.5e3,[{}]]`, Message{}},
	}
	for _, tt := range tests {
		got, err := ParseMessage([]byte(tt.in))
		if err != nil || got.Label != tt.want.Label || !bytes.Equal(got.Sub, tt.want.Sub) || !bytes.Equal(got.ID, tt.want.ID) ||
			got.CreatedAt != tt.want.CreatedAt || !bytes.Equal(got.Event, tt.want.Event) || got.OK != tt.want.OK ||
			got.Count != tt.want.Count || !bytes.Equal(got.Text, tt.want.Text) {
			t.Errorf("%s: %+v, %v", tt.in, got, err)
		}
		skimmed, err := SkimMessage([]byte(tt.in))
		got.Event, skimmed.Event = nil, nil
		if err != nil || !reflect.DeepEqual(skimmed, got) {
			t.Errorf("%s: skimmed %+v, %v", tt.in, skimmed, err)
		}
	}
}

// SkimMessage does not take half a message for a whole one.
func TestSkimMessageRefusesTheCut(t *testing.T) {
	message := `["EVENT","q",{"id":"` + someID + `","created_at":12,"tags":[],"content":"ab","sig":"cd"}]`
	for n := range len(message) {
		// The end of the tags looks like the end of a message.
		if m, err := SkimMessage([]byte(message[:n])); err == nil && !strings.HasSuffix(message[:n], `]`) {
			t.Errorf("%s: %+v", message[:n], m)
		}
	}
}

func TestParseMessageRefuses(t *testing.T) {
	for _, in := range []string{
		``, `{}`, `[]`, `[1]`, `["EVENT"]`, `["EVENT","q"]`, `["EVENT","q",{}]`, `["EVENT","q",{"id":"ab"}]`, `["EVENT","q",{"id":"` + someID + `"}`,
		`["EVENT","q",{"id":"` + someID + `"]]`, `["EVENT","q",{"id":"` + someID + `",}]`, `["EVENT","q",{"id":"` + someID + `","a":}]`,
		`["OK","` + someID + `"]`, `["OK","` + someID + `","true"]`, `["OK",1,true]`, `["EOSE"]`, `["EOSE","q"`, `["EOSE","q"]]`, `["EOSE","q"]x`,
		`["COUNT","q",{}]`, `["COUNT","q",5]`, `["COUNT","q",{"count":"5"}]`, `["CLOSED","q",5]`, `["EOSE","q\"]`, `["EVENT","q",{"id":"` + someID + `","a":[}]]`,
	} {
		if m, err := ParseMessage([]byte(in)); !errors.Is(err, ErrProtocol) {
			t.Errorf("%s: %+v, %v", in, m, err)
		}
	}
}

// Reading an event message allocates nothing: it is done for every event that a
// relay sends.
func TestParseMessageDoesNotAllocate(t *testing.T) {
	c, _ := testCorpus(t, 60)
	ev := readEvents(t, c.Path)[1]
	plain := wire.AppendEventFrame(nil, "q", wire.AppendEvent(nil, ev))
	for name, message := range map[string][]byte{"plain": plain, "reordered": reordered(t, plain)} {
		if n := testing.AllocsPerRun(100, func() {
			if m, err := SkimMessage(message); err != nil || string(m.ID) != ev.ID {
				t.Fatal(m, err)
			}
		}); n != 0 {
			t.Errorf("%s: %v allocations", name, n)
		}
	}
}

func BenchmarkSkimMessage(b *testing.B) {
	c, _ := testCorpus(b, 60)
	ev := readEvents(b, c.Path)[0]
	message := wire.AppendEventFrame(nil, "q", wire.AppendEvent(nil, ev))
	b.SetBytes(int64(len(message)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := SkimMessage(message); err != nil {
			b.Fatal(err)
		}
	}
}

// FuzzParseMessage compares with encoding/json, on texts that are JSON.
func FuzzParseMessage(f *testing.F) {
	for _, seed := range []string{
		`["EVENT","q",{"id":"` + someID + `","created_at":12,"content":"a\\\"}]","tags":[["a","{"]]}]`,
		`["OK","` + someID + `",true,""]`, `["EOSE","q",["more"]]`, `["COUNT","q",{"count":3}]`, `["CLOSED","q","x"]`, `["AUTH","c"]`, `[]`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		m, err := ParseMessage(slices.Clip(b))
		if err != nil && !errors.Is(err, ErrProtocol) {
			t.Fatal(err)
		}
		var parts []json.RawMessage
		var label, second string
		if json.Unmarshal(b, &parts) != nil || len(parts) < 2 || json.Unmarshal(parts[0], &label) != nil || json.Unmarshal(parts[1], &second) != nil {
			return
		}
		// The scanner does not decode escapes.
		if strings.ContainsAny(string(parts[0])+string(parts[1]), `\`) {
			return
		}
		switch {
		case err == nil && m.Label == LabelEOSE && string(m.Sub) != second && json.Valid([]byte(`"`+second+`"`)),
			err != nil && label == "EOSE":
			t.Errorf("%s: %+v, %v", b, m, err)
		case err == nil && m.Label == LabelEvent && !json.Valid(m.Event):
			t.Errorf("%s: the event is %s", b, m.Event)
		}
	})
}
