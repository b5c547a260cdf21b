package wire

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"github.com/nbd-wtf/go-nostr"
)

func stamp(n nostr.Timestamp) *nostr.Timestamp { return &n }

func TestParseFilterAccepts(t *testing.T) {
	tests := []struct {
		name, in string
		want     nostr.Filter
	}{
		{"empty", `{}`, nostr.Filter{}},
		{"everything", `{"ids":["` + testID + `"],"authors":["` + testKey + `"],"kinds":[0,65535],"#d":["x",""],"#E":["y"],
			"since":0,"until":2,"limit":3,"search":"a b"}`,
			nostr.Filter{IDs: []string{testID}, Authors: []string{testKey}, Kinds: []int{0, 65535},
				Tags: nostr.TagMap{"d": {"x", ""}, "E": {"y"}}, Since: stamp(0), Until: stamp(2), Limit: 3, Search: "a b"}},
		{"empty lists match nothing", `{"ids":[],"authors":[],"kinds":[],"#p":[]}`,
			nostr.Filter{IDs: []string{}, Authors: []string{}, Kinds: []int{}, Tags: nostr.TagMap{"p": {}}}},
		{"limit 0", `{"limit":0}`, nostr.Filter{LimitZero: true}},
		{"escaped key", `{"\u0023p":["\u0061"]}`, nostr.Filter{Tags: nostr.TagMap{"p": {"a"}}}},
		{"search loses extensions", `{"search":" include:spam  best\tnostr language:en apps "}`, nostr.Filter{Search: "best nostr apps"}},
		{"search keeps URLs and times", `{"search":"https://a.b/c 10:30 :x y: \"q\""}`, nostr.Filter{Search: `https://a.b/c 10:30 :x y: "q"`}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := ParseFilter([]byte(tt.in), Limits{})
			if err != nil {
				t.Fatal(err)
			}
			if !reflect.DeepEqual(got, tt.want) {
				t.Errorf("got %#v\nwant %#v", got, tt.want)
			}
		})
	}
}

func TestParseFilterRefuses(t *testing.T) {
	tests := []struct{ name, in, says string }{
		{"no object", `[]`, "must be a JSON object"},
		{"null", `null`, "must be a JSON object"},
		{"unknown key", `{"author":["` + testKey + `"]}`, `"author": unknown`},
		{"key in other case", `{"Kinds":[1]}`, `"Kinds": unknown`},
		{"long tag name", `{"#agentry:contract":["x"]}`, `"#agentry:contract": unknown`},
		{"digit tag name", `{"#1":["x"]}`, `"#1": unknown`},
		{"tag name missing", `{"#":["x"]}`, `"#": unknown`},
		{"letter beyond ASCII", `{"#é":["x"]}`, `"#é": unknown`},
		{"ids null", `{"ids":null}`, `"ids": must be a list`},
		{"kinds null", `{"kinds":null}`, `"kinds": must be a list`},
		{"authors a string", `{"authors":"x"}`, `"authors": must be a list`},
		{"authors prefix", `{"authors":["abcd"]}`, `"authors": must hold 64`},
		{"ids upper case", `{"ids":["` + strings.ToUpper(testID) + `"]}`, `"ids": must hold 64`},
		{"ids of numbers", `{"ids":[1]}`, `"ids": must hold strings`},
		{"tag null", `{"#p":null}`, `"#p": must be a list`},
		{"tag value null", `{"#p":[null]}`, `"#p": must hold strings`},
		{"kinds of strings", `{"kinds":["1"]}`, `"kinds": each kind must be an integer`},
		{"kinds out of range", `{"kinds":[65536]}`, `"kinds": each kind must be between`},
		{"kinds negative", `{"kinds":[-1]}`, `"kinds": each kind must not be negative`},
		{"kinds 1e0", `{"kinds":[1e0]}`, `"kinds": each kind must be an integer`},
		{"kinds 1.0", `{"kinds":[1.0]}`, `"kinds": each kind must be an integer`},
		{"since a string", `{"since":"1"}`, `"since": must be an integer`},
		{"since null", `{"since":null}`, `"since": must be an integer`},
		{"until negative", `{"until":-1}`, `"until": must not be negative`},
		{"until 1e10", `{"until":1e10}`, `"until": must be an integer`},
		{"limit negative", `{"limit":-1}`, `"limit": must not be negative`},
		{"limit null", `{"limit":null}`, `"limit": must be an integer`},
		{"limit too great", `{"limit":99999999999999999999}`, `"limit": is out of range`},
		{"search null", `{"search":null}`, `"search": must be a string`},
		{"search empty", `{"search":""}`, `"search": holds no words`},
		{"search of extensions only", `{"search":"include:spam language:en"}`, `"search": holds no words`},
		{"ids twice", `{"ids":[],"ids":[]}`, `"ids": given twice`},
		{"limit twice", `{"limit":1,"limit":0}`, `"limit": given twice`},
		{"search twice", `{"search":"a","search":"b"}`, `"search": given twice`},
		{"since twice", `{"since":1,"since":1}`, `"since": given twice`},
		{"until twice", `{"until":1,"until":1}`, `"until": given twice`},
		{"kinds twice", `{"kinds":[1],"kinds":[1]}`, `"kinds": given twice`},
		{"authors twice by escape", `{"authors":[],"\u0061uthors":[]}`, `"authors": given twice`},
		{"tag twice", `{"#p":[],"#p":["x"]}`, `"#p": given twice`},
		{"trailing data", `{}{}`, "trailing data"},
		{"invalid UTF-8", "{\"#p\":[\"\xff\"]}", "invalid UTF-8"},
		{"cut off", `{"ids":["`, "ends inside a string"},
		{"long key is cut", `{"` + strings.Repeat("é", 200) + `":1}`, strings.Repeat("é", 32) + `…": unknown`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := ParseFilter([]byte(tt.in), Limits{})
			if err == nil {
				t.Fatal("accepted")
			}
			if !strings.Contains(err.Error(), tt.says) {
				t.Errorf("error %q does not say %q", err, tt.says)
			}
		})
	}
}

func TestParseFilterBoundsValues(t *testing.T) {
	in := []byte(`{"kinds":[1,2],"#p":["a","b"],"#e":["c"]}`)
	if _, err := ParseFilter(in, Limits{FilterValues: 5}); err != nil {
		t.Errorf("five values of five: %v", err)
	}
	_, err := ParseFilter(in, Limits{FilterValues: 4})
	if err == nil || !strings.Contains(err.Error(), "at most 4") {
		t.Errorf("five values of four: %v", err)
	}
}

// A value is held for as long as a subscription is open, and has a bound of its
// own; the error names where it stands and how long it is.
func TestParseFilterBoundsOneValue(t *testing.T) {
	long := strings.Repeat("é", MaxFilterValue/2)
	for _, in := range []string{`{"#d":["%s"]}`, `{"search":"%s"}`} {
		if _, err := ParseFilter([]byte(strings.ReplaceAll(in, "%s", long)), Limits{}); err != nil {
			t.Errorf("%s of %d bytes: %v", in, len(long), err)
		}
		key := in[:strings.Index(in, ":")][1:]
		_, err := ParseFilter([]byte(strings.ReplaceAll(in, "%s", long+"x")), Limits{})
		if err == nil || !strings.Contains(err.Error(), key+": holds a value of 1025 bytes (at most 1024)") {
			t.Errorf("%s of one byte more: %v", in, err)
		}
	}
}

// Filters live as long as subscriptions; the frame they came in must not.
func TestParseFilterLetsGoOfItsFrame(t *testing.T) {
	s := newScanner([]byte(`{"ids":["` + testID + `"],"#p":["abc","def"],"search":"word"}`))
	f, err := s.filter(Limits{})
	if err != nil {
		t.Fatal(err)
	}
	kept := append([]string{f.IDs[0], f.Search}, f.Tags["p"]...)
	for name := range f.Tags {
		kept = append(kept, name)
	}
	for _, v := range kept {
		if within(s.src, v) {
			t.Errorf("%q is still part of its frame", v)
		}
	}
}

// What go-nostr's clients send is read as they meant it.
func TestParseFilterReadsGoNostr(t *testing.T) {
	want := nostr.Filter{IDs: []string{testID}, Kinds: []int{30174}, Authors: []string{testKey},
		Tags: nostr.TagMap{"d": {"a\"b"}, "p": {testKey}}, Since: stamp(5), Until: stamp(9), Limit: 7, Search: "x"}
	b, err := json.Marshal(want)
	if err != nil {
		t.Fatal(err)
	}
	got, err := ParseFilter(b, Limits{})
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%s read as %#v (%v)", b, got, err)
	}
}
