package secrets_test

import (
	"errors"
	"fmt"
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
			if c.Kind == "" && len(found) > 0 || c.Kind != "" && (len(found) != 1 || found[0].Kind != c.Kind) {
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
