package nipae

import (
	"errors"
	"strings"
	"testing"
)

func TestParseBodyAccepts(t *testing.T) {
	for in, want := range map[string]struct {
		slug Slug
		text string
		ok   bool
	}{
		`{"slug":"core","profile":"p"}`:                        {Core, "p", true},
		`{"profile":"p","slug":"core"}`:                        {Core, "p", true},
		" \t\r\n{\"slug\" : \"mem/a\" , \"value\" : \"v\" }\n": {"mem/a", "v", true},
		`{"slug":"mem/a","value":null}`:                        {"mem/a", "", false},
		`{"slug":"mem/a","value":""}`:                          {"mem/a", "", true},
		`{"\u0073lug":"m\u0065m/a","valu\u0065":"\u00e9"}`:     {"mem/a", "é", true},
		`{"slug":"mem\/a","value":"\ud83e\udde0"}`:             {"mem/a", "\U0001F9E0", true},
		`{"slug":"core","profile":"p","value":7}`:              {Core, "p", true},
		`{"slug":"core","profile":"p","value":null}`:           {Core, "p", true},
		`{"slug":"mem/a","value":"v","profile":null}`:          {"mem/a", "v", true},
		`{"slug":"mem/a","value":"v","Slug":"core","VALUE":1}`: {"mem/a", "v", true},
		`{"slug":"mem/a","value":"v","x":{"a":1},"y":{"a":1}}`: {"mem/a", "v", true},
		`{"slug":"mem/a","value":"v","x":{"slug":"core"}}`:     {"mem/a", "v", true},
		`{"slug":"mem/a","value":"v","x":1e999}`:               {"mem/a", "v", true},
		`{"slug":"mem/a","value":"\ufffd"}`:                    {"mem/a", "\uFFFD", true},
		`{"slug":"mem/a","value":"\u0000"}`:                    {"mem/a", "\x00", true},
		`{"slug":"mem/a","value":"{\"slug\":\"core\"}"}`:       {"mem/a", `{"slug":"core"}`, true},
	} {
		b, err := ParseBody([]byte(in))
		if err != nil {
			t.Errorf("%s: %v", in, err)
			continue
		}
		if text, ok := b.Text(); b.Slug() != want.slug || text != want.text || ok != want.ok {
			t.Errorf("%s: %q %q %v", in, b.Slug(), text, ok)
		}
	}
}

func TestParseBodyRefuses(t *testing.T) {
	for in, why := range map[string]string{
		"":                  "object",
		"null":              "object",
		`"core"`:            "object",
		`[]`:                "object",
		`[{"slug":"core"}]`: "object",
		"\xef\xbb\xbf" + `{"slug":"core","profile":""}`: "object",
		`{`:                              "object",
		`{}`:                             "slug",
		`{"slug":"core","profile":"p"`:   "object",
		`{"slug":"core","profile":"p"}}`: "object",
		`{"slug":"core","profile":"p"}{"slug":"core","profile":"p"}`: "object",
		`{"slug":"core","profile":"p"} x`:                            "object",
		`{"slug":"core","profile":"p",}`:                             "object",
		`{"slug":"core","profile":'p'}`:                              "object",
		`{slug:"core","profile":"p"}`:                                "object",
		`{"slug":"core","profile":"p"/**/}`:                          "object",
		`{"slug":"core","profile":"p","x":NaN}`:                      "object",
		`{"slug":"core","profile":"p","x":01}`:                       "object",
		"{\"slug\":\"core\",\"profile\":\"a\nb\"}":                   "object",

		`{"slug":"core"}`:                                               "profile",
		`{"profile":"p"}`:                                               "slug",
		`{"slug":"core","value":"p"}`:                                   "profile",
		`{"slug":"core","profile":null}`:                                "profile",
		`{"slug":"core","profile":1}`:                                   "profile",
		`{"slug":"core","profile":["p"]}`:                               "profile",
		`{"slug":"core","Profile":"p"}`:                                 "profile",
		`{"slug":"mem/a"}`:                                              "value",
		`{"slug":"mem/a","profile":"p"}`:                                "value",
		`{"slug":"mem/a","VALUE":"v"}`:                                  "value",
		`{"slug":"mem/a","value":1}`:                                    "value",
		`{"slug":"mem/a","value":false}`:                                "value",
		`{"slug":"mem/a","value":{}}`:                                   "value",
		`{"Slug":"mem/a","value":"v"}`:                                  "slug",
		`{"ſlug":"mem/a","value":"v"}`:                                  "slug",
		`{"slug":null,"value":"v"}`:                                     "slug",
		`{"slug":["mem/a"],"value":"v"}`:                                "slug",
		`{"slug":"","value":"v"}`:                                       "slug",
		`{"slug":"a","value":"v"}`:                                      "slug",
		`{"slug":"mem/A","value":"v"}`:                                  "slug",
		`{"slug":"Core","profile":"v"}`:                                 "slug",
		`{"slug":" core","profile":"v"}`:                                "slug",
		`{"slug":"mem/a\u0000","value":"v"}`:                            "slug",
		`{"slug":"mem/a","value":"v","slug":"mem/a"}`:                   "twice",
		`{"slug":"mem/a","value":"v","value":"v"}`:                      "twice",
		`{"slug":"mem/a","value":"v","\u0076alue":"w"}`:                 "twice",
		`{"slug":"mem/a","value":"v","x":1,"x":1}`:                      "twice",
		`{"slug":"mem/a","value":"v","x":{"a":1,"a":1}}`:                "twice",
		`{"slug":"mem/a","value":"v","x":[[{"b":{"a":1,"\u0061":2}}]]}`: "twice",
		`{"slug":"mem/a","value":"v","x":[{"":0,"":0}]}`:                "twice",
		"{\"slug\":\"mem/a\",\"value\":\"\xff\"}":                       "object",
		"{\"slug\":\"mem/a\",\"value\":\"v\",\"\xff\":1}":               "object",
		"{\"slug\":\"mem/a\",\"value\":\"v\",\"x\":[\"\xc3\"]}":         "object",
		"{\"slug\":\"mem/a\",\"value\":\"\xed\xa0\x80\"}":               "object",
		"{\"slug\":\"mem/a\",\"value\":\"\xc0\x80\"}":                   "object",
		`{"slug":"mem/a","value":"\ud800"}`:                             "object",
		`{"slug":"mem/a","value":"\udc00\ud800"}`:                       "object",
		`{"slug":"mem/a","value":"\ud800x"}`:                            "object",
		`{"slug":"mem/a","value":"v","x":["\udfff"]}`:                   "object",
		`{"slug":"mem/a","value":"v","\ud800":1}`:                       "object",
		`{"slug":"mem/a","value":"v","x":{"\udbff":1}}`:                 "object",
		`{"slug":"mem/a","value":"\x"}`:                                 "object",
	} {
		b, err := ParseBody([]byte(in))
		if !errors.Is(err, ErrBody) || len(b.members) > 0 {
			t.Errorf("%q: %v", in, err)
		} else if !strings.Contains(err.Error(), why) {
			t.Errorf("%q: %v, which does not name the %s", in, err, why)
		}
	}
}

func TestParseBodyLimits(t *testing.T) {
	frame := `{"slug":"core","profile":""}`
	largest := `{"slug":"core","profile":"` + strings.Repeat("x", MaxBody-len(frame)) + `"}`
	if _, err := ParseBody([]byte(largest)); err != nil {
		t.Errorf("the largest body: %v", err)
	}
	if _, err := ParseBody([]byte(largest + " ")); !errors.Is(err, ErrTooLarge) {
		t.Errorf("one byte more: %v", err)
	}
	nested := func(depth int) string {
		return `{"slug":"core","profile":"","x":` + strings.Repeat("[", depth) + strings.Repeat("]", depth) + `}`
	}
	if _, err := ParseBody([]byte(nested(5000))); err != nil {
		t.Errorf("5,000 arrays in one another: %v", err)
	}
	if _, err := ParseBody([]byte(nested(30000))); !errors.Is(err, ErrBody) {
		t.Errorf("30,000 arrays in one another: %v", err)
	}
}

func TestParseBodyErrorsKeepSecrets(t *testing.T) {
	for _, in := range []string{
		`{"slug":"mem/s3cret!","value":"v"}`,
		`{"slug":"mem/a","value":"v","s3cret":1,"s3cret":2}`,
		`{"slug":"mem/a","value":"s3cret\ud800"}`,
		`{"slug":"mem/a","value":["s3cret"]}`,
		`s3cret`,
	} {
		if _, err := ParseBody([]byte(in)); err == nil || strings.Contains(err.Error(), "s3cret") {
			t.Errorf("%s: %v", in, err)
		}
	}
}
