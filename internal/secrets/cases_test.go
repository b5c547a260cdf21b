package secrets_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"engramd/internal/e2e/secretcases"
	"engramd/internal/secrets"
)

// TestCases holds the search to the table that the owner's page is held to as well.
func TestCases(t *testing.T) {
	yes, no := 0, 0
	for _, c := range secretcases.All(t) {
		for _, around := range [][2]string{{"", ""}, {"Noted on Monday:\n\n", "\n\nThat is all."}} {
			text := around[0] + c.Text + around[1]
			found := secrets.Find(text)
			if len(found) != c.Count || slices.ContainsFunc(found, func(f secrets.Finding) bool { return f.Kind != c.Kind }) {
				t.Errorf("%s: %v in %q", c.Name, found, text)
			}
			if shown, _ := secrets.Redact(text); secrets.Check(shown) != nil {
				t.Errorf("%s is redacted to %q", c.Name, shown)
			}
		}
		if c.Kind == "" {
			no++
			continue
		}
		yes++
	}
	if yes < 25 || no < 40 {
		t.Errorf("%d cases with a secret, %d without", yes, no)
	}
}

// TestAppends: what is added is judged by itself and what is right before it.
func TestAppends(t *testing.T) {
	for _, c := range secretcases.All(t) {
		for _, old := range []string{"", "One line.\n", strings.Repeat("A line of a log.\n", 100)} {
			if err := secrets.CheckChange(old, old+c.Text); (err != nil) != (c.Kind != "") {
				t.Errorf("%s, added to %d bytes: %v", c.Name, len(old), err)
			}
		}
		old := c.Text + "\n" + strings.Repeat("A line of a log.\n", 100)
		if err := secrets.CheckChange(old, old+"One more.\n"); err != nil {
			t.Errorf("%s stood there already: %v", c.Name, err)
		}
	}
	log := ""
	for i := range 200 {
		more := fmt.Sprintf("entry %d\n", i)
		if err := secrets.CheckChange(log, log+more); err != nil {
			t.Fatalf("entry %d: %v", i, err)
		}
		log += more
	}
	half := strings.Repeat("x", 300) + "\nsecret key:\n"
	found := new(secrets.Error)
	if err := secrets.CheckChange(half, half+"7e7e9c42a91bfef19fa929e5fda1b72e0ebc1a4c1141673e2794234d86addf4e"); !errors.As(err, &found) || found.Line != 3 {
		t.Errorf("a key by the word before it: %v", err)
	}
}

// TestAppendsWordByWord: the words of a wallet that come row by row are those of one
// phrase, however much is written around each.
func TestAppendsWordByWord(t *testing.T) {
	const phrase = "hamster diagram private dutch cause delay private meat slide toddler razor book happy fancy gospel tennis maple dilemma loan word shrug inflict delay length"
	for _, row := range []string{"%d. %s\n", "- %02d. %s\n", "| %d | %s |\n", "%d) `%s`\n", "* %d: '%s'\r\n"} {
		for _, old := range []string{"", strings.Repeat("A line of a log.\n", 100)} {
			text, refused := old, false
			for i, word := range strings.Fields(phrase) {
				more := fmt.Sprintf(row, i+1, word)
				refused = secrets.CheckChange(text, text+more) != nil
				text += more
			}
			if !refused {
				t.Errorf("the last row of %q behind %d bytes passes", row, len(old))
			}
		}
	}
	list := strings.Repeat("scheme spot photo card baby mountain device kick cradle pact join ", 10) // a long run is none
	if err := secrets.CheckChange(list, list+"borrow"); err != nil {
		t.Errorf("words of a long list: %v", err)
	}
}

// TestWordsByChance bounds how many runs of words of the list are taken for a phrase
// that are none.
func TestWordsByChance(t *testing.T) {
	raw, err := os.ReadFile("bip39.json")
	var list []string
	if err == nil {
		err = json.Unmarshal(raw, &list)
	}
	if err != nil {
		t.Fatal(err)
	}
	r := rand.New(rand.NewPCG(1, 2))
	for _, tc := range []struct{ size, most int }{{12, 140}, {20, 115}, {24, 90}, {40, 5}} {
		refused := 0
		for range 2000 {
			words := make([]string, tc.size)
			for i := range words {
				words[i] = list[r.IntN(len(list))]
			}
			if secrets.Check(strings.Join(words, " ")) != nil {
				refused++
			}
		}
		t.Logf("%d words: %d of 2,000", tc.size, refused)
		if refused > tc.most {
			t.Errorf("%d of 2,000 runs of %d words are refused", refused, tc.size)
		}
	}
}
