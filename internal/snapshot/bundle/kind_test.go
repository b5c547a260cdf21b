package bundle

import (
	"errors"
	"strings"
	"testing"
	"time"
)

// TestKind is in the manifest, and what is made has the one that follows from
// the rest.
func TestKind(t *testing.T) {
	for _, tt := range []struct {
		consistency, by string
		src             memory
		want            Kind
	}{
		{Transaction, ByScheduled, sample(t, 1), KindWhole},
		{StableListing, ByAgent, sample(t, 1), KindWhole},
		{StableListing, ByCLI, sample(t, 1), KindOwners},
		{PartialListing, ByCLI, sample(t, 1), KindPartial},
		{Transaction, ByAdmin, memory{}, KindEmpty},
	} {
		o := options()
		o.Consistency, o.CreatedBy = tt.consistency, tt.by
		w := mustWrite(t, t.TempDir(), tt.src, o)
		m, err := ReadManifest(w.Path)
		if err != nil || m.Kind != tt.want {
			t.Errorf("%s by %s: %q, %v", tt.consistency, tt.by, m.Kind, err)
		}
		lie := *m
		if lie.Kind = KindWhole; tt.want == KindWhole {
			lie.Kind = KindPartial
		}
		if _, err := lie.Encode(); !errors.Is(err, ErrManifest) {
			t.Errorf("%q said to be %q: %v", tt.want, lie.Kind, err)
		}
		old := *m
		if old.Kind = KindUnknown; old.KindOf(old.Empty()) != tt.want {
			t.Errorf("an old one: %q", old.KindOf(old.Empty()))
		}
		if _, err := old.Encode(); err != nil {
			t.Errorf("an old one: %v", err)
		}
	}
	o := options()
	o.SomeEngrams = true
	if _, err := Write(t.Context(), t.TempDir(), memory{}, o); !errors.Is(err, ErrEmpty) {
		t.Errorf("of nothing: %v", err)
	}
}

// TestTrusted: the agent's signature, or that of a key that is trusted; every
// other counts as none.
func TestTrusted(t *testing.T) {
	for _, tt := range []struct {
		name, secret string
		trusted      []string
		want         bool
		says         string
	}{
		{"agent", agentSecret, nil, true, "by the agent"},
		{"trusted", otherSecret, []string{ownerKey, otherKey}, true, otherKey},
		{"unknown", otherSecret, []string{ownerKey}, false, "unknown signer"},
		{"nobody", "", []string{ownerKey}, false, "not signed"},
	} {
		o := options()
		if tt.secret != "" {
			var err error
			if o.Sign, err = NewSigner(tt.secret); err != nil {
				t.Fatal(err)
			}
		}
		w := mustWrite(t, t.TempDir(), sample(t, 1), o)
		r := mustVerify(t, w.Path, VerifyOptions{Trusted: tt.trusted})
		c := r.Check(CheckSignature)
		if r.Trusted != tt.want || (c.State == OK) != tt.want || !strings.Contains(c.Reason, tt.says) || !r.OK() {
			t.Errorf("%s: %+v, trusted %v, OK %v", tt.name, c, r.Trusted, r.OK())
		}
		var text strings.Builder
		if err := r.WriteText(&text); err != nil || strings.HasSuffix(text.String(), "\nok\n") != tt.want {
			t.Errorf("%s: the verdict is %q", tt.name, text.String())
		}
	}
}

// TestTimeOfEvents: an instant that lies long before what is in the bundle is
// not its instant.
func TestTimeOfEvents(t *testing.T) {
	for _, tt := range []struct {
		asOf time.Time
		ok   bool
	}{
		{pinned, true},
		{time.Date(1970, 1, 1, 0, 0, 1, 0, time.UTC), false},
	} {
		o := options()
		o.AsOf = tt.asOf
		w, err := Write(t.Context(), t.TempDir(), sample(t, 1), o)
		if (err == nil) != tt.ok || err != nil && !strings.Contains(err.Error(), CheckTime) {
			t.Errorf("as of %v: %v, %v", tt.asOf, w, err)
		}
	}
	files := mustWrite(t, t.TempDir(), sample(t, 1), options())
	lines := map[string][]string{}
	for kind, body := range artifactsOf(t, files.Path) {
		lines[kind] = strings.Split(strings.TrimSuffix(body, "\n"), "\n")
	}
	m := *files.Manifest
	m.AsOf = time.Date(1970, 1, 1, 0, 0, 1, 0, time.UTC)
	report := mustVerify(t, reseal(t, t.TempDir(), &m, lines), VerifyOptions{})
	if c := report.Check(CheckTime); c.State != Failed || report.OK() {
		t.Errorf("dated back: %+v", c)
	}
}
