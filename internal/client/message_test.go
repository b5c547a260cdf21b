package client

import (
	"errors"
	"strings"
	"testing"
	"unicode"
)

func TestParseMessage(t *testing.T) {
	for frame, want := range map[string]Message{
		`["EVENT","s",{"id":1}]`:                       {Label: "EVENT", sub: "s"},
		`["EOSE","s"]`:                                 {Label: "EOSE", sub: "s"},
		`["EOSE","s",["finish"]]`:                      {Label: "EOSE", sub: "s", hints: []string{"finish"}},
		`["EOSE","s",{"more":1},2]`:                    {Label: "EOSE", sub: "s"},
		`["CLOSED","s","error: x"]`:                    {Label: "CLOSED", sub: "s", Text: "error: x"},
		`["CLOSED","s"]`:                               {Label: "CLOSED", sub: "s"},
		`["OK","id",true]`:                             {Label: "OK", id: "id", ok: true},
		`["OK","id",false,"blocked: x"]`:               {Label: "OK", id: "id", Text: "blocked: x"},
		` [ "AUTH" , "c" ] `:                           {Label: "AUTH", Text: "c"},
		`["NOTICE","hello"]`:                           {Label: "NOTICE", Text: "hello"},
		`["COUNT","s",{"count":1}]`:                    {Label: "COUNT", sub: "s", Count: 1},
		`["COUNT","s",{"count":9,"approximate":true}]`: {Label: "COUNT", sub: "s", Count: -1},
		`["NEG-STATS"]`:                                {Label: "NEG-STATS"},
		`["NEG-MSG","s","61"]`:                         {Label: "NEG-MSG", sub: "s", Text: "61"},
		`["NEG-ERR","s","closed: x"]`:                  {Label: "NEG-ERR", sub: "s", Text: "closed: x"},
	} {
		got, err := parseMessage([]byte(frame))
		if err != nil || got.Label != want.Label || got.sub != want.sub || got.id != want.id || got.ok != want.ok || got.Text != want.Text ||
			got.hinted("finish") != want.hinted("finish") || got.hinted("more") {
			t.Errorf("%s is %+v, %v", frame, got, err)
		}
	}
	for _, frame := range []string{``, `x`, `{}`, `[]`, `[1]`, `["EVENT"]`, `["EVENT","s"]`, `["EVENT",1,{}]`, `["EOSE"]`, `["OK","id"]`,
		`["OK","id","true",""]`, `["OK","id",true,5]`, `["AUTH"]`, `["AUTH",{}]`, `["NOTICE",1]`, `["CLOSED",null,1]`, `["EOSE","s"]]`} {
		if got, err := parseMessage([]byte(frame)); !errors.Is(err, ErrMisbehaved) {
			t.Errorf("%s is %+v, %v", frame, got, err)
		}
	}
}

// Any message is parsed or refused, and what is shown of it is short and
// printable.
func FuzzParseMessage(f *testing.F) {
	for _, seed := range []string{`["EVENT","s",{"id":1}]`, `["EOSE","s",["finish"]]`, `["OK","id",false,"\u0007"]`, `["AUTH","c"]`, `["CLOSED","s","a\u202eb"]`, `["NEG-MSG","s","6100000200"]`, `["NEG-ERR","s","blocked: x"]`, `[[[`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, frame []byte) {
		m, err := parseMessage(frame)
		if err != nil && !errors.Is(err, ErrMisbehaved) {
			t.Errorf("%v", err)
		}
		if shown := Printable(m.Text); len(shown) > 4*310 || strings.ContainsFunc(shown, unicode.IsControl) {
			t.Errorf("it is shown as %q", shown)
		}
	})
}

func TestRefusals(t *testing.T) {
	for text, want := range map[string]error{
		"auth-required: x": ErrAuth, "restricted: x": ErrAuth, "blocked: x": ErrAuth, "error: x": ErrRefused, "": ErrRefused,
		"not restricted: x": ErrRefused, "duplicate: x": ErrRefused, "no colon": ErrRefused,
	} {
		err := error(&RefusalError{Message: text})
		if !errors.Is(err, want) || errors.Is(err, ErrAuth) && errors.Is(err, ErrRefused) || err.Error() == "" {
			t.Errorf("%q is %v", text, err)
		}
	}
}
