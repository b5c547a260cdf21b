package contracts

import "testing"

// TestLacks: what is passed over without being taken apart has not every word.
func TestLacks(t *testing.T) {
	for _, c := range []struct {
		data  string
		words []string
		want  bool
	}{
		{`{"content":"{\"content\":\"Government FILINGS\"}"}`, []string{"filings", "government"}, false},
		{`{"content":"{\"content\":\"Government FILINGS\"}"}`, []string{"filings", "cedar"}, true},
		{`{"content":"{\"content\":\"line\\nfilings\"}"}`, []string{"filings"}, false},
		{`{"content":"\u0066ilings"}`, []string{"filings"}, false},                    // a letter by its number
		{`{"content":"{\"content\":\"\\u0066ilings\"}"}`, []string{"filings"}, false}, // twice encoded
		{"{\"content\":\"\u212aelvin\"}", []string{"kelvin"}, false},                  // a letter whose lower case is ASCII
		{`{"content":"x"}`, []string{"é"}, true},
		{``, []string{"x"}, true},
	} {
		if got := (&finder{words: c.words}).lacks([]byte(c.data)); got != c.want {
			t.Errorf("%s, %v: %t", c.data, c.words, got)
		}
	}
}
