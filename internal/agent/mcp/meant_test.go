package mcp

import (
	"bytes"
	"encoding/json"
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"engramd/nips/frontmatter"

	"engramd/internal/agent/mcp/aside"
)

// everyKind has an argument of each kind that a tool has.
type everyKind struct {
	Text    string             `json:"text"`
	Maybe   *string            `json:"maybe"`
	Texts   []string           `json:"texts"`
	Numbers []int              `json:"numbers"`
	Whole   int                `json:"whole"`
	Large   int64              `json:"large"`
	Part    *float64           `json:"part"`
	Yes     bool               `json:"yes"`
	By      map[string]float64 `json:"by"`
	Inner   struct {
		Yes  bool   `json:"yes"`
		Text string `json:"text"`
	} `json:"inner"`
	Any []map[string]any `json:"any"`
}

func TestArgumentsAreMeant(t *testing.T) {
	for _, c := range []struct{ given, want string }{
		// A text stays one, whatever it looks like.
		{`{"text":"[1]"}`, ``}, {`{"text":"5"}`, ``}, {`{"text":"true"}`, ``}, {`{"text":"null"}`, ``}, {`{"maybe":"{}"}`, ``}, {`{"texts":["[\"a\"]","5"]}`, ``},
		{`{"inner":{"text":"[1]"}}`, ``},
		// Lists.
		{`{"texts":"[\"a\",\"b\"]"}`, `{"texts":["a","b"]}`}, {`{"texts":" [] "}`, `{"texts":[]}`}, {`{"texts":"a"}`, `{"texts":["a"]}`},
		{`{"texts":"a, \"b"}`, `{"texts":["a, \"b"]}`}, {`{"texts":"5"}`, `{"texts":["5"]}`}, {`{"texts":""}`, `{"texts":[""]}`}, {`{"texts":"[[mem/a]]"}`, `{"texts":["[[mem/a]]"]}`},
		{`{"texts":"[WIP] atlas"}`, `{"texts":["[WIP] atlas"]}`}, {`{"texts":"[urgent]"}`, `{"texts":["[urgent]"]}`}, {`{"texts":"["}`, `{"texts":["["]}`}, {`{"texts":"[1] a"}`, `{"texts":["[1] a"]}`},
		{`{"numbers":"[1, 2]"}`, `{"numbers":[1,2]}`}, {`{"numbers":["1","-2"]}`, `{"numbers":[1,-2]}`}, {`{"numbers":"[\"1\"]"}`, `{"numbers":[1]}`},
		{`{"any":"[{\"a\":\"5\"}]"}`, `{"any":[{"a":"5"}]}`},
		// Numbers.
		{`{"whole":"5"}`, `{"whole":5}`}, {`{"whole":" -5 "}`, `{"whole":-5}`}, {`{"whole":"5.0"}`, `{"whole":5}`}, {`{"whole":5.0}`, `{"whole":5}`}, {`{"whole":"1e2"}`, `{"whole":100}`},
		{`{"large":"9223372036854775807"}`, `{"large":9223372036854775807}`}, {`{"part":"0.7"}`, `{"part":0.7}`}, {`{"part":"1"}`, `{"part":1}`}, {`{"part":0.7}`, ``},
		// Booleans.
		{`{"yes":"true"}`, `{"yes":true}`}, {`{"yes":"False"}`, `{"yes":false}`}, {`{"yes":true}`, ``},
		// Objects, and what is in them.
		{`{"by":"{\"joy\":0.5}"}`, `{"by":{"joy":0.5}}`}, {`{"by":{"joy":"0.5"}}`, `{"by":{"joy":0.5}}`}, {`{"by":"{\"joy\":\"0.5\"}"}`, `{"by":{"joy":0.5}}`},
		{`{"inner":"{\"yes\":\"true\",\"text\":\"5\"}"}`, `{"inner":{"yes":true,"text":"5"}}`},
		// A null is none, as a text too.
		{`{"whole":"null","yes":"null","numbers":"null","by":"null","text":"a"}`, `{"text":"a"}`},
		// What is no argument, or no object, is the SDK's.
		{`{"other":"5"}`, ``}, {`[]`, ``}, {`null`, ``}, {``, ``}, {`"{}"`, ``}, {`{"whole":`, ``}, {`{ "whole": 5 }`, ``},
	} {
		got, err := meant(reflect.TypeFor[everyKind](), json.RawMessage(c.given))
		if c.want == "" {
			if err != nil || string(got) != c.given {
				t.Errorf("%s is left: %s, %v", c.given, got, err)
			}
			continue
		}
		if err != nil || !equalJSON(t, got, c.want) {
			t.Errorf("%s: %s, %v; want %s", c.given, got, err, c.want)
		}
	}
}

func equalJSON(t *testing.T, got json.RawMessage, want string) bool {
	t.Helper()
	a, b := json.NewDecoder(bytes.NewReader(got)), json.NewDecoder(strings.NewReader(want))
	a.UseNumber()
	b.UseNumber()
	var x, y any
	if err := errors.Join(a.Decode(&x), b.Decode(&y)); err != nil {
		t.Error(err)
	}
	return reflect.DeepEqual(x, y)
}

func TestWhatCannotBeMeantIsNamed(t *testing.T) {
	for given, want := range map[string]string{
		`{"text":5}`:                          "text must be a text.",
		`{"text":["a"]}`:                      "text must be a text.",
		`{"maybe":true}`:                      "maybe must be a text.",
		`{"texts":"[\"a\""}`:                  `texts must be a list, and each of it a text.`,
		`{"texts":"null"}`:                    `texts must be a list, and each of it a text.`, // a text, or none
		`{"texts":"[ \"a\", b]"}`:             `texts must be a list, and each of it a text.`,
		`{"texts":"[1]"}`:                     "texts[0] must be a text.",
		`{"texts":"[[\"a\"]]"}`:               "texts[0] must be a text.",
		`{"texts":5}`:                         "texts must be a list, and each of it a text",
		`{"texts":{"a":"b"}}`:                 "texts must be a list, and each of it a text",
		`{"numbers":"1"}`:                     "numbers must be a list, and each of it a whole number.",
		`{"numbers":"[1.5]"}`:                 "numbers[0] must be a whole number",
		`{"whole":"five"}`:                    "whole must be a whole number.",
		`{"whole":""}`:                        "whole must be a whole number",
		`{"whole":"5 6"}`:                     "whole must be a whole number",
		`{"whole":"1.5"}`:                     "whole must be a whole number",
		`{"whole":"\"5\""}`:                   "whole must be a whole number", // once, not as often as it takes
		`{"whole":"99999999999999999999"}`:    "whole must be a whole number",
		`{"whole":1e300}`:                     "whole must be a whole number",
		`{"part":"1e999"}`:                    "part must be a number",
		`{"part":"NaN"}`:                      "part must be a number",
		`{"yes":"yes"}`:                       "yes must be true or false.",
		`{"yes":1}`:                           "yes must be true or false.",
		`{"by":"joy"}`:                        "by must be an object",
		`{"by":"[1]"}`:                        "by must be an object",
		`{"by":{"joy":"much"}}`:               "by.\"joy\" must be a number",
		`{"inner":"{\"yes\":\"no\"}"}`:        "inner.yes must be true or false",
		`{"any":"{}"}`:                        "any must be a list",
		`{"any":"` + deep(20_000) + `"}`:      "any must be a list",
		`{"texts":"` + deep(9_000) + `"}`:     "texts[0] must be a text.",
		`{"by":{"a` + "\\n" + `b":"c"}}`:      `by."a b" must be a number`,
		`{"by":"{\"a\":{\"b\":{\"c\":1}}}"}`:  `by."a" must be a number.`,
		`{"whole":"5","yes":"5","text":"ok"}`: "yes must be true or false",
	} {
		_, err := meant(reflect.TypeFor[everyKind](), json.RawMessage(given))
		var f *Failure
		if !errors.As(err, &f) || f.Code != CodeInvalid || !strings.Contains(f.Message, want) || strings.Contains(f.Message, "five") {
			t.Errorf("%.60s: %v, want %s", given, err, want)
		}
	}
}

// deep is a list in a list, that often.
func deep(n int) string { return strings.Repeat("[", n) + strings.Repeat("]", n) }

func TestToolsTakeWhatIsMeant(t *testing.T) {
	m := newFake()
	p := unitServer(t, m, nil)
	for i, tags := range []any{`["x","y"]`, []string{"x", "y"}} {
		ask[writeOut](p, "memory_write", args{"slug": "t/a", "text": slugf("[%d]", i), "tags": tags, "salience": "0.7", "allow_placeholder": "true"})
		d := frontmatter.Parse(m.texts["mem/t/a"])
		if f := d.Fields(); !slices.Equal(f.Tags, []string{"x", "y"}) || f.Salience != 0.7 || d.Body() != string(slugf("[%d]", i)) {
			t.Errorf("%q", m.texts["mem/t/a"])
		}
	}
	if got := ask[searchOut](p, "memory_search", args{"query": "1", "tags": `["x"]`, "limit": "5"}); got.Total != 1 {
		t.Errorf("%+v", got)
	}
	ask[writeOut](p, "memory_write", args{"slug": "t/a", "tags": "[WIP] atlas"})
	if f := frontmatter.Parse(m.texts["mem/t/a"]).Fields(); !slices.Equal(f.Tags, []string{"[WIP] atlas"}) {
		t.Errorf("%v", f.Tags)
	}
	ask[writeOut](p, "memory_write", args{"slug": "t/a", "tags": "[]"})
	if f := frontmatter.Parse(m.texts["mem/t/a"]).Fields(); len(f.Tags) != 0 {
		t.Errorf("%v", f.Tags)
	}
	for i := range 6 {
		ask[writeOut](p, "memory_write", args{"slug": string(slugf("l/%d", i)), "text": "x"})
	}
	if got := ask[listOut](p, "memory_list", args{"limit": "5"}); len(got.Entries) != 5 {
		t.Errorf("%d entries", len(got.Entries))
	}
	if got := ask[readOut](p, "memory_read", args{"slug": "t/a", "max_bytes": "4"}); got.Text != "[1]" {
		t.Errorf("%+v", got)
	}
	if got := ask[recallOut](p, "memory_recall", args{"query": "1", "budget_bytes": "4000", "emotion": `{"joy":"0.5"}`, "types": `["semantic"]`, "states": `["active"]`}); len(got.Hits) != 1 {
		t.Errorf("%+v", got)
	}
	for argument, a := range map[string]args{
		"tags":  {"slug": "t/b", "text": "x", "tags": `["a`},
		"text":  {"slug": "t/b", "text": 5},
		"limit": {"slug": "t/b", "text": "x", "limit": "many"},
	} {
		tool := "memory_write"
		if argument == "limit" {
			a, tool = args{"limit": "many"}, "memory_list"
		}
		if f, words := p.refused(tool, a); f.Code != CodeInvalid || !strings.Contains(words, argument+" must be ") {
			t.Errorf("%v: %s", a, words)
		}
	}
	if _, there := m.texts["mem/t/b"]; there {
		t.Error("it was written all the same")
	}
}

// What the schema calls a list, a number or a boolean is one for meant too, in all tools.
func TestMeaningIsTheSchemas(t *testing.T) {
	s := newServer(options{Memory: newFake(), Contracts: &fakeContracts{}, Files: FilesBeside, Mind: anyMind(), Each: true})
	p := connect(t, s)
	tools, err := p.ListTools(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for _, tool := range tools.Tools {
		in := s.inputs[tool.Name]
		if tool.Name == aside.More { // what it hands on has them
			continue
		}
		if in == nil {
			t.Errorf("%s has no types", tool.Name)
			continue
		}
		schema := decode[struct {
			Properties map[string]struct {
				Type  string
				Items struct{ Type string }
			}
		}](t, tool.InputSchema)
		for _, f := range reflect.VisibleFields(in) {
			name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
			if name == "" {
				continue
			}
			kind := f.Type
			if kind.Kind() == reflect.Pointer {
				kind = kind.Elem()
			}
			says := schema.Properties[name].Type
			seen[says] = true
			if want := map[string]string{"string": "a text", "boolean": "true or false", "number": "a number", "integer": "a whole number", "object": "an object", "array": "a list"}[says]; want == "" || !strings.HasPrefix(wanted(kind), want) {
				t.Errorf("%s: %s is %q in the schema, and meant as %s", tool.Name, name, says, wanted(kind))
			}
		}
	}
	for _, says := range []string{"string", "boolean", "number", "integer", "object", "array"} {
		if !seen[says] {
			t.Errorf("no %s was seen", says)
		}
	}
}

func FuzzMeant(f *testing.F) {
	for _, text := range []string{`{"texts":"[\"a\",\"b\"]","whole":"5","yes":"true"}`, `{"by":"{\"joy\":\"0.5\"}"}`, `{"inner":"{\"yes\":\"true\"}"}`, `{"whole":"1e2"}`, `{"whole":-0.0}`, `{"large":"9007199254740993"}`,
		`{"any":"[{\"a\":[1,{}]}]"}`, `{"texts":"[[mem/a]]"}`, `{"numbers":["1",null]}`, `{"whole":"null"}`, `{"text":"\ud800"}`, `{"texts":"[\"\\ud800\"]"}`, `[]`, `{"whole":`, `{"whole":1,"whole":"2"}`, `{"part":"-0"}`, `{"by":{"":"1"}}`} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		got, err := meant(reflect.TypeFor[everyKind](), json.RawMessage(text))
		if err != nil {
			if f, ok := errors.AsType[*Failure](err); !ok || !strings.Contains(f.Message, " must be ") {
				t.Errorf("%q: %v", text, err)
			}
			return
		}
		var given map[string]json.RawMessage
		if json.Unmarshal([]byte(text), &given) != nil {
			if string(got) != text {
				t.Errorf("%q became %q", text, got)
			}
			return
		}
		var before, into everyKind
		// Names are told apart by their case, as the SDK does.
		lax := jsonv2.JoinOptions(jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
		if err := jsonv2.Unmarshal(got, &into, lax); err != nil {
			t.Errorf("%q became %q: %v", text, got, err)
		}
		if jsonv2.Unmarshal([]byte(text), &before, lax) == nil && !reflect.DeepEqual(before, into) {
			t.Errorf("%q could be read, and became %q", text, got)
		}
		if len(got) > 6*len(text)+16 { // a text that is escaped once more
			t.Errorf("%d bytes became %d", len(text), len(got))
		}
		if again, err := meant(reflect.TypeFor[everyKind](), got); err != nil || string(again) != string(got) {
			t.Errorf("%q became %q, and then %q: %v", text, got, again, err)
		}
	})
}
