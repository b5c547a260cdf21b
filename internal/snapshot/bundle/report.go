package bundle

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
)

// CheckState is what became of one check.
type CheckState string

// The states. A check that could not be made is never OK.
const (
	OK         CheckState = "ok"
	Failed     CheckState = "failed"
	NotChecked CheckState = "not checked"
)

// The checks that Verify makes, beside one "artifact <path>" for each artifact.
const (
	CheckFileHash    = "file hash"   // the file is what its .sha256 sibling says
	CheckEncryption  = "encryption"  // the age stream opens and is whole
	CheckCompression = "compression" // the zstd stream is whole and within bounds
	CheckEntries     = "entries"     // exactly the declared entries, in order, safe
	CheckManifest    = "manifest"    // canonical, complete, sensible
	CheckBundleID    = "id"          // the file's name has the hash of the manifest
	CheckRequest     = "request"     // tenant and agent are those asked for
	CheckSignature   = "signature"   // manifest.sig, by the agent or a trusted key
	CheckSeal        = "seal"        // bundle_sha256
	CheckEvents      = "events"      // each event's id and signature
	CheckOrder       = "order"       // lines canonical, sorted, each once
	CheckDeclared    = "declared"    // kinds, agent and owners as the manifest says
	CheckTime        = "time"        // nothing dated long after as_of
	CheckEnvelopes   = "envelopes"   // the shape that each kind must have
	CheckParent      = "parent"      // the bundles that this one rests on
	CheckHeads       = "heads"       // each head really the head
	CheckRoot        = "root"        // heads_root
	CheckDecrypts    = "decrypts"    // engrams decrypt and slugs fit addresses
)

// Check is one check and its result.
type Check struct {
	Name  string     `json:"name"`
	State CheckState `json:"state"`
	// Reason says why it failed or was not made; what was found if it is OK
	// and there is more to say.
	Reason string `json:"reason,omitempty"`
	// Asked says whether the report's OK needs this check to be OK.
	Asked bool `json:"asked"`
}

// Report is what Verify found out about a bundle.
type Report struct {
	Path string `json:"path,omitempty"`
	// ID is that of the manifest, or of the file's name if the manifest could
	// not be read.
	ID        string `json:"id,omitempty"`
	Encrypted bool   `json:"encrypted"`
	// SHA256 and Size are those of the file.
	SHA256 string `json:"sha256,omitempty"`
	Size   int64  `json:"size"`
	// Manifest is nil if it could not be read.
	Manifest *Manifest `json:"manifest,omitempty"`
	SignedBy string    `json:"signed_by,omitempty"`
	// Trusted says whether who signed it is trusted: without that the bundle
	// proves each event in it, but not that they are all, nor time, label and
	// tenant.
	Trusted bool    `json:"trusted"`
	Checks  []Check `json:"checks"`
	// Parents are the reports on the bundles that this one rests on, the next
	// one first.
	Parents []*Report `json:"parents,omitempty"`
}

// OK reports whether everything that was asked for is OK and nothing failed.
func (r *Report) OK() bool {
	wrong := func(c Check) bool { return c.State == Failed || c.Asked && c.State != OK }
	return len(r.Checks) > 0 && !slices.ContainsFunc(r.Checks, wrong)
}

// Check returns the check of that name; NotChecked if there is none.
func (r *Report) Check(name string) Check {
	for _, c := range r.Checks {
		if c.Name == name {
			return c
		}
	}
	return Check{Name: name, State: NotChecked, Reason: "not reached"}
}

// Err returns nil if OK, else an ErrInvalid that names the checks that failed,
// or, if none did, those that could not be made.
func (r *Report) Err() error {
	if r.OK() {
		return nil
	}
	return fmt.Errorf("%w: %s", ErrInvalid, strings.Join(r.faults(), "; "))
}

// faults returns the checks that failed. If none did, they are those that could
// not be made, by reason: where one fails, most others could not be made for
// it.
func (r *Report) faults() (faults []string) {
	for _, c := range r.Checks {
		if c.State == Failed {
			faults = append(faults, fmt.Sprintf("%s failed: %s", c.Name, c.Reason))
		}
	}
	if len(faults) > 0 {
		return faults
	}
	if c := r.Check(CheckEncryption); r.Encrypted && c.State == NotChecked {
		return []string{c.Reason} // everything else could not be checked for it
	}
	var reasons []string
	checks := map[string][]string{}
	for _, c := range r.Checks {
		if !c.Asked || c.State == OK {
			continue
		}
		if checks[c.Reason] == nil {
			reasons = append(reasons, c.Reason)
		}
		checks[c.Reason] = append(checks[c.Reason], c.Name)
	}
	for _, reason := range reasons {
		faults = append(faults, fmt.Sprintf("%s not checked: %s", strings.Join(checks[reason], ", "), reason))
	}
	return faults
}

// MarshalJSON adds "ok".
func (r *Report) MarshalJSON() ([]byte, error) {
	type plain Report
	return json.Marshal(struct {
		OK bool `json:"ok"`
		*plain
	}{r.OK(), (*plain)(r)})
}

// WriteText writes the report for a person, a check on each line.
func (r *Report) WriteText(w io.Writer) error {
	var b strings.Builder
	r.text(&b, "")
	_, err := io.WriteString(w, b.String())
	return err
}

func (r *Report) text(b *strings.Builder, indent string) {
	fmt.Fprintf(b, "%ssnapshot %s\n", indent, r.ID)
	if m := r.Manifest; m != nil {
		fmt.Fprintf(b, "%s  tenant %s, agent %s, %s, %d events as of %s\n", indent, m.Tenant, m.Agent, m.KindOf(m.Empty()), m.Events(), m.AsOf.Format("2006-01-02T15:04:05Z"))
	}
	for _, c := range r.Checks {
		fmt.Fprintf(b, "%s  %-11s  %s", indent, c.State, c.Name)
		if c.Reason != "" {
			fmt.Fprintf(b, ": %s", c.Reason)
		}
		b.WriteByte('\n')
	}
	for _, parent := range r.Parents {
		parent.text(b, indent+"  ")
	}
	verdict := "not ok"
	switch {
	case r.OK() && r.Trusted:
		verdict = "ok"
	case r.OK():
		verdict = "ok, but nobody who is trusted signed it: each event in it is genuine; that they are all of them, and its time, label and tenant, are not proved"
	}
	fmt.Fprintf(b, "%s%s\n", indent, verdict)
}
