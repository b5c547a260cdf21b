package web_test

import (
	"encoding/base64"
	"fmt"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"engramd/nips/nipae"
)

// bodyCase is a decrypted body, and what it says if it is one.
type bodyCase struct {
	Text  *string  `json:"text,omitempty"`
	Parts [][2]any `json:"parts,omitempty"` // base64, and how often: for what is no UTF-8, or long
	OK    bool     `json:"ok"`
	Slug  string   `json:"slug,omitempty"`
	Value *string  `json:"value,omitempty"` // none: a tombstone, or not shown where it is long
	Long  int      `json:"long,omitempty"`  // bytes of a value that is not shown
}

// part is a text so many times.
type part struct {
	text string
	n    int
}

func whole(parts []part) []byte {
	var b []byte
	for _, p := range parts {
		b = append(b, strings.Repeat(p.text, p.n)...)
	}
	return b
}

func bodyCaseOf(parts ...part) bodyCase {
	b := whole(parts)
	var c bodyCase
	if text := string(b); len(parts) == 1 && utf8.ValidString(text) && len(text) < 1000 {
		c.Text = &text
	} else {
		for _, p := range parts {
			c.Parts = append(c.Parts, [2]any{base64.StdEncoding.EncodeToString([]byte(p.text)), p.n})
		}
	}
	body, err := nipae.ParseBody(b)
	if err != nil {
		return c
	}
	c.OK, c.Slug = true, string(body.Slug())
	if text, live := body.Text(); live && len(text) < 1000 {
		c.Value = &text
	} else if live {
		c.Long = len(text)
	}
	return c
}

// TestGoldenTableOfBodies writes and checks web-bodies.json.
func TestGoldenTableOfBodies(t *testing.T) {
	bases := []string{`{"slug":"core","profile":"Ich heiße Anna.\nEnd\u0000"}`, `{"slug":"mem/a","value":null,"x":[1,{"y":2}]}`,
		`{ "value" : "a\ud83d\ude00" , "slug" : "mem/n\u006ftes/1" }`}
	for _, e := range readPublished(t).Events {
		bases = append(bases, e.Body)
	}
	texts := slices.Concat(bases, writtenBodies)
	r := seeded(1)
	odd := []string{`"`, `\`, `{`, `}`, `,`, `:`, "\x00", "\x80", "\n", " ", "\xed\xa0\x80", "0", "\\u", "\u00a0", "\ufeff"}
	for _, base := range bases {
		for range 60 {
			at := r.IntN(len(base))
			switch r.IntN(4) {
			case 0: // a byte less
				texts = append(texts, base[:at]+base[at+1:])
			case 1:
				texts = append(texts, base[:at]+pick(r, odd)+base[at:])
			case 2:
				texts = append(texts, base[:at]+pick(r, odd)+base[at+1:])
			default: // cut off
				texts = append(texts, base[:at])
			}
		}
	}
	var cases []any
	seen := map[string]bool{}
	for _, text := range texts {
		if !seen[text] {
			seen[text] = true
			cases = append(cases, bodyCaseOf(part{text, 1}))
		}
	}
	frame := len(`{"slug":"mem/a","value":""}`)
	for _, size := range []int{nipae.MaxBody - 1, nipae.MaxBody, nipae.MaxBody + 1} {
		cases = append(cases, bodyCaseOf(part{`{"slug":"mem/a","value":"`, 1}, part{"a", size - frame}, part{`"}`, 1}),
			bodyCaseOf(part{`{"slug":"mem/a","value":"ab"}`, 1}, part{" ", size - frame - 2}),
			bodyCaseOf(part{`{"slug":"mem/a","value":"`, 1}, part{"ab"[:(size-frame)%2], 1}, part{"é", (size - frame) / 2}, part{`"}`, 1}))
	}
	for _, depth := range []int{100, 9998, 9999, 10000, 10001} {
		cases = append(cases, bodyCaseOf(part{`{"slug":"mem/a","value":"v","x":`, 1}, part{"[", depth}, part{"]", depth}, part{"}", 1}),
			bodyCaseOf(part{`{"slug":"mem/a","value":"v","x":`, 1}, part{`{"":`, min(depth, 10000)}, part{"1", 1}, part{"}", min(depth, 10000) + 1}))
	}
	ok := 0
	for _, c := range cases {
		if c.(bodyCase).OK {
			ok++
		}
	}
	if ok < 80 || len(cases)-ok < 150 {
		t.Errorf("%d of %d bodies are valid: that holds nobody to anything", ok, len(cases))
	}
	(&table{name: "web-bodies.json", about: "Bodies of engrams and what nips/nipae reads in them. Text, or parts: base64 and how often. Made from nip-ae.json.",
		sections: []section{{"cases", cases}}}).hold(t, 300)
}

// writtenBodies are those that nobody would draw by chance.
var writtenBodies = slices.Concat([]string{
	``, ` `, `null`, `true`, `1`, `"mem/a"`, `[]`, `{}`, `[{"slug":"mem/a","value":"x"}]`,
	`{"slug":"mem/a","value":"x"}{}`, `{"slug":"mem/a","value":"x"} x`, `{"slug":"mem/a","value":"x"},`, "\ufeff" + `{"slug":"mem/a","value":"x"}`,
	" \t\r\n" + `{"slug":"mem/a","value":"x"}` + " \t\r\n", `{"slug":"mem/a","value":"x"}` + "\x00", `{"slug":"mem/a","value":"x"}` + "\f", "\u00a0" + `{"slug":"mem/a","value":"x"}`,
	`{"slug":"mem/a","value":"x","slug":"mem/a"}`, `{"slug":"mem/a","value":"x","value":"x"}`, `{"slug":"mem/a","sl\u0075g":"mem/a","value":"x"}`,
	`{"slug":"mem/a","value":"x","y":{"a":1,"a":1}}`, `{"slug":"mem/a","value":"x","y":[{"a":1,"\u0061":1}]}`, `{"slug":"mem/a","value":"x","y":[{"a":1},{"a":1}]}`,
	`{"slug":"mem/a","value":"x","y":{"a":{"a":{"a":1}}}}`, `{"slug":"mem/a","value":"x","":1,"":2}`, `{"slug":"mem/a","value":"x","":1}`,
	`{"slug":"mem/a","value":"x","__proto__":1}`, `{"slug":"mem/a","value":"x","__proto__":1,"__proto__":1}`, `{"__proto__":{"slug":"mem/a","value":"x"}}`,
	`{"slug":"mem/a","__proto__":{"value":"x"}}`, `{"slug":"mem/a","value":"x","constructor":1,"toString":2,"hasOwnProperty":3}`, `{"slug":"__proto__","value":"x"}`,
	`{"Slug":"mem/a","value":"x"}`, `{"slug":"mem/a","Value":"x"}`, `{"SLUG":"mem/b","slug":"mem/a","VALUE":1,"value":"x"}`, `{"slug":"mem/a","value":"x","VALUE":null}`,
	`{"slug":"core","profile":"x"}`, `{"slug":"core","profile":null}`, `{"slug":"core","value":"x"}`, `{"slug":"core","profile":"x","value":7}`, `{"slug":"core","profile":""}`,
	`{"slug":"mem/a","profile":"x"}`, `{"slug":"mem/a","value":"x","profile":7}`, `{"slug":"mem/a","value":null,"profile":"x"}`, `{"value":"x"}`, `{"slug":null,"value":"x"}`,
	`{"slug":1,"value":"x"}`, `{"slug":["mem/a"],"value":"x"}`, `{"slug":{"a":"mem/a"},"value":"x"}`, `{"slug":true,"value":"x"}`,
	`{'slug':'mem/a','value':'x'}`, `{slug:"mem/a",value:"x"}`, `{"slug":"mem/a","value":"x",}`, `{,"slug":"mem/a","value":"x"}`, `{"slug":"mem/a" "value":"x"}`,
	`{"slug":"mem/a","value":"x"/* c */}`, `{"slug":"mem/a","value":"x"} // c`, `{"slug":"mem/a",,"value":"x"}`, `{"slug":"mem/a":"value":"x"}`,
	`{"slug":"mem\/a","value":"x"}`, `{"\u0073lug":"mem/a","v\u0061lue":"\u0078"}`,
}, values(`"x"`, `""`, `null`, `0`, `false`, `true`, `[]`, `{}`, `["x"]`, `{"a":"x"}`, `"a\qb"`, `"a\u12"`, `"\u00zz"`, `"\u0000"`, `"\u001f"`, "\"\x1f\"", "\"\t\"", "\"\x7f\"",
	"\"\u2028\"", "\"\u2029\"", `"\ud800"`, `"\udc00"`, `"\ud800\ud800"`, `"\udc00\ud800"`, `"\ud83d\ude00"`, `"\uD83D\uDE00"`, `"\ud83dx"`, `"\ud83d\n"`, `"\ud83d\\ude00"`, `"\ufffe"`, `"\uffff"`, `"\ufeff"`, `"\ufffd"`,
	`"\b\f\n\r\t\"\\\/"`, `"\v"`, `"\0"`, `"\x41"`, `"\'"`, `"\U0041"`, "\"\xff\"", "\"\xc0\x80\"", "\"\xc3\"", "\"\xe2\x82\"", "\"\xf0\x9f\x98\x80\"", "\"\xf4\x90\x80\x80\"", "\"\xed\xa0\x80\"", "\"\xf8\x88\x80\x80\x80\"", "\"\xef\xbf\xbd\"",
	`NULL`, `Null`, `nul`, `undefined`, `'x'`, `"x`, `x"`, `"x""y"`, `"x" "y"`),
	others(`1`, `-1`, `-0`, `0`, `00`, `01`, `-`, `+1`, `1.`, `.5`, `1.5`, `1e5`, `1E+5`, `1e-5`, `1e`, `1e+`, `1e999`, `-1e999`, `123456789012345678901234567890`, `0x10`, `1_000`, `NaN`, `Infinity`, `-Infinity`,
		`tru`, `truex`, `TRUE`, `nan`, `[1,]`, `[,1]`, `[1 2]`, `[1`, `[1}`, `{"a":1]`, `{"a"}`, `{"a":}`, `{1:2}`, `{null:1}`, `"\ud800"`, `{"\ud800":1}`, `{"\udfff":1,"a":2}`, `["\ud83d\ude00"]`, `[["\udc00"]]`, "\"\xff\"", "{\"\xff\":1}",
		`{"a":1,"b":{"c":[{"d":1,"d":2}]}}`, `{"a":1,"A":2}`, `{"a":{"b":1},"c":{"b":1}}`, `{"a\u0000":1,"a":2}`, `{"é":1,"e\u0301":2}`, `{"é":1,"\u00e9":2}`, `[{"a":[{"a":1}]}]`, `[[],[[]],{}]`, `"[[{{\"\"}}]]"`, `"\\"`, `"\\\""`, `{"\"":1,"\\\"":2}`),
	slugs())

// values are bodies whose text is written as given.
func values(written ...string) (all []string) {
	for _, w := range written {
		all = append(all, `{"slug":"mem/a","value":`+w+`}`)
	}
	return all
}

// others are bodies with another member as given.
func others(written ...string) (all []string) {
	for _, w := range written {
		all = append(all, `{"slug":"mem/a","o":`+w+`,"value":"x"}`)
	}
	return all
}

// slugs are bodies with slugs of every kind.
func slugs() (all []string) {
	long := strings.Repeat("a", 64)
	for _, s := range []string{"", "core", "Core", "core/a", "mem", "mem/", "mem//", "mem/a/", "mem//a", "mem/a//b", "/mem/a", "mem/a/b/c/d", "mem/A", "mem/a b", "mem/a.b", "mem/_a", "mem/-a", "mem/a_", "mem/a-", "mem/0", "mem/é",
		"mem/a\u200b", "MEM/a", "mem/a\\n", "mem/a\\u000a", " mem/a", "mem/a ", "mem/" + long, "mem/" + long + "a", "mem/a/" + long, "mem/a/" + long + "b", "memo/a", "mem/a/../b", "mem/a/./b", "mem/%61",
		fmt.Sprintf("mem/%s/%s/%s/%s", long, long, long, long[:56]), fmt.Sprintf("mem/%s/%s/%s/%s", long, long, long, long[:57]), fmt.Sprintf("mem/%s/%s/%s/%s", long, long, long, long[:55]),
		"mem/proposals/00000000000000000000000000000000", "mem/sys/log/00000000/0", "mem/ａ", "mem/ſ", "mem/K"} {
		all = append(all, `{"slug":"`+s+`","value":"x"}`, `{"slug":"`+s+`","profile":"x"}`)
	}
	return all
}
