package bundle

import (
	"errors"
	"os"
	"strings"
	"testing"
)

// TestReportErr names what is at fault, and not all that could not be checked
// for it.
func TestReportErr(t *testing.T) {
	key, _ := newIdentity(t)
	o := options()
	var err error
	if o.Recipients, err = ParseRecipients([]string{key.Recipient().String()}); err != nil {
		t.Fatal(err)
	}
	w := mustWrite(t, t.TempDir(), sample(t, 1), o)
	_, strangers := newIdentity(t)
	for _, tt := range []struct {
		name  string
		ids   Identities
		wants []string
		most  int
	}{
		{"no identity", Identities{}, []string{"it is encrypted", "--decrypt-identity"}, 1},
		{"another's identity", strangers, []string{"encryption failed: none of the identities opens it"}, 1},
	} {
		err := mustVerify(t, w.Path, VerifyOptions{Identities: tt.ids}).Err()
		if !errors.Is(err, ErrInvalid) || strings.Count(err.Error(), ";") >= tt.most {
			t.Errorf("%s: %v", tt.name, err)
		}
		for _, want := range tt.wants {
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %v, want %q", tt.name, err, want)
			}
		}
	}
	if err := os.Remove(w.Path + SumExtension); err != nil {
		t.Fatal(err)
	}
	if err := mustVerify(t, w.Path, VerifyOptions{Identities: strangers}).Err(); err == nil || strings.Contains(err.Error(), "not checked") {
		t.Errorf("what failed beside what could not be checked: %v", err)
	}
}

// TestWhole: from which bundles it follows that what is not in them was not
// there.
func TestWhole(t *testing.T) {
	for _, tt := range []struct {
		consistency, by  string
		whole, oneOwners bool
	}{
		{Transaction, ByCLI, true, false},
		{Transaction, ByAutoPreRestore, true, false},
		{StableListing, ByAgent, true, false},
		{StableListing, ByAutoPreRestore, true, false},
		{StableListing, ByCLI, false, true},
		{PartialListing, ByAgent, false, false},
		{PartialListing, ByAutoPreRestore, false, false},
		{PartialListing, ByCLI, false, true},
	} {
		o := options()
		o.Consistency, o.CreatedBy = tt.consistency, tt.by
		w := mustWrite(t, t.TempDir(), sample(t, 1), o)
		m := mustVerify(t, w.Path, VerifyOptions{}).Manifest
		if m == nil || m.Whole() != tt.whole || m.OneOwners() != tt.oneOwners {
			t.Errorf("%s by %s: %+v", tt.consistency, tt.by, m)
		}
	}
}
