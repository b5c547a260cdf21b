package bundle

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// ErrManifest is what every error about a manifest is.
var ErrManifest = errors.New("not a manifest of a snapshot")

// Who asked for a bundle (Manifest.CreatedBy).
const (
	ByCLI            = "cli"
	ByAgent          = "agent"
	ByAdmin          = "admin"
	ByAutoPreRestore = "auto-pre-restore"
	ByScheduled      = "scheduled"
)

// How a bundle came to show one instant (Manifest.Consistency).
const (
	// Transaction: read in one read transaction of the database.
	Transaction = "transaction"
	// StableListing: listed over the wire, fetched, and listed again until both
	// lists agreed.
	StableListing = "stable-listing"
	// PartialListing: listed like that, but some relay did not answer in full.
	// That something is not in the bundle does not say that it was not there.
	PartialListing = "partial-listing"
)

var (
	creators      = []string{ByCLI, ByAgent, ByAdmin, ByAutoPreRestore, ByScheduled}
	consistencies = []string{Transaction, StableListing, PartialListing}
)

// Automatic reports whether bundles with this CreatedBy are made by a program
// and have their own count in retention.
func Automatic(createdBy string) bool {
	return createdBy == ByAutoPreRestore || createdBy == ByScheduled
}

// Artifact is one file of events in a bundle.
type Artifact struct {
	Path   string `json:"path"`
	Kind   string `json:"kind"` // a Class's name, or "gone"
	Count  int64  `json:"count"`
	Size   int64  `json:"size"`   // bytes
	SHA256 string `json:"sha256"` // hex
}

// Manifest says what a bundle holds and of whom. Its JSON is canonical
// (RFC 8785) and is the first entry of the bundle.
type Manifest struct {
	Format string `json:"format"` // Format
	Tenant string `json:"tenant"`
	Agent  string `json:"agent"` // public key, hex
	// Kind says how much of the agent's memory it is; older bundles do not say it:
	// see KindOf.
	Kind Kind `json:"kind,omitzero"`
	// Owners are the keys that the engrams name in their p tags, sorted.
	Owners []string `json:"owners"`
	Label  string   `json:"label"`
	// CreatedAt is the time of the bundle, which who makes it may pin; AsOf the
	// instant that it shows; whole seconds, UTC.
	CreatedAt time.Time `json:"created_at"`
	AsOf      time.Time `json:"as_of"`
	// HistorySince is from when on history is complete, if known.
	HistorySince time.Time `json:"history_since,omitzero"`
	CreatedBy    string    `json:"created_by"`
	Consistency  string    `json:"consistency"` // Transaction, …
	Software     string    `json:"software"`    // "engramd 1.2.3"
	Schema       int64     `json:"schema"`      // of the database, 0 without one
	// Parent is the id of the bundle that this one adds to; empty for a full
	// one.
	Parent string `json:"parent"`
	// Artifacts in their order in the bundle.
	Artifacts []Artifact `json:"artifacts"`
	// HeadsRoot is HeadsRoot of the engram heads at the instant, those that
	// only the parents hold included.
	HeadsRoot    string `json:"heads_root"`
	BundleSHA256 string `json:"bundle_sha256"` // see Seal
	// Recipients are the age keys that the bundle was encrypted to, sorted.
	Recipients []string `json:"recipients"`
}

// Incremental reports whether the bundle needs its parent.
func (m *Manifest) Incremental() bool { return m.Parent != "" }

// KindOf returns what the bundle is, by what it says of how it was made, also
// if it does not say its kind; empty says whether it stands for no engram.
func (m *Manifest) KindOf(empty bool) Kind {
	switch {
	case empty:
		return KindEmpty
	case m.Consistency == PartialListing:
		return KindPartial
	case m.OneOwners():
		return KindOwners
	}
	return KindWhole
}

// Empty reports whether the bundle stands for no engram.
func (m *Manifest) Empty() bool { return m.HeadsRoot == EmptyRoot }

// OneOwners reports whether the bundle is what an owner could read of the agent
// over the wire: it says nothing of memory for others.
func (m *Manifest) OneOwners() bool { return m.Consistency != Transaction && m.CreatedBy == ByCLI }

// Whole reports whether the bundle is all that the agent had, so that what is
// not in it was not there.
func (m *Manifest) Whole() bool { return m.Consistency != PartialListing && !m.OneOwners() }

// Events returns how many events the bundle itself holds.
func (m *Manifest) Events() int64 {
	var n int64
	for _, a := range m.Artifacts {
		if a.Kind != gone {
			n += a.Count
		}
	}
	return n
}

// Seal returns what BundleSHA256 must be: the SHA-256, in hex, of the
// artifacts' hex digests one after the other.
func (m *Manifest) Seal() string {
	h := sha256.New()
	for _, a := range m.Artifacts {
		h.Write([]byte(a.SHA256))
	}
	return hex.EncodeToString(h.Sum(nil))
}

// Encode returns the canonical JSON of the manifest (RFC 8785). The error is
// ErrManifest if it is not one that ParseManifest would take.
func (m *Manifest) Encode() ([]byte, error) {
	if err := m.check(); err != nil {
		return nil, err
	}
	return m.canonical()
}

func (m *Manifest) canonical() ([]byte, error) {
	b, err := json.Marshal(m)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrManifest, err)
	}
	v := jsontext.Value(b)
	if err := v.Canonicalize(); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrManifest, err)
	}
	if len(v) > maxManifest {
		return nil, fmt.Errorf("%w: larger than %d bytes", ErrManifest, maxManifest)
	}
	return v, nil
}

// ParseManifest reads a manifest: at most 8 MiB of canonical JSON with exactly
// the known members. Whether the artifacts are as it says is another matter,
// and so is the seal. The error is ErrManifest.
func ParseManifest(b []byte) (*Manifest, error) {
	if len(b) > maxManifest {
		return nil, fmt.Errorf("%w: larger than %d bytes", ErrManifest, maxManifest)
	}
	var m Manifest
	if err := json.Unmarshal(b, &m, json.RejectUnknownMembers(true)); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrManifest, err)
	}
	if err := m.check(); err != nil {
		return nil, err
	}
	again, err := m.canonical()
	if err != nil {
		return nil, err
	}
	if !bytes.Equal(b, again) {
		return nil, fmt.Errorf("%w: not in canonical form, or a member is missing", ErrManifest)
	}
	return &m, nil
}

// ManifestID returns the id of the bundle with this manifest.
func ManifestID(createdAt time.Time, manifestJSON []byte) string {
	sum := sha256.Sum256(manifestJSON)
	return createdAt.UTC().Format(idTime) + "-" + hex.EncodeToString(sum[:8])
}

func (m *Manifest) check() error {
	bad := func(format string, args ...any) error {
		return fmt.Errorf("%w: "+format, append([]any{ErrManifest}, args...)...)
	}
	if m.Format != Format {
		return bad("format %.40q instead of %q", m.Format, Format)
	}
	for _, err := range []error{CheckTenant(m.Tenant), CheckAgent(m.Agent), CheckLabel(m.Label)} {
		if err != nil {
			return bad("%w", err)
		}
	}
	if err := m.checkOrigin(); err != nil {
		return bad("%w", err)
	}
	if m.Kind != KindUnknown && m.Kind != m.KindOf(m.Empty()) {
		return bad("kind %.40q: by the rest of it it is %q", m.Kind, m.KindOf(m.Empty()))
	}
	if len(m.Owners) > maxOwners || !strictlySorted(m.Owners) || slices.ContainsFunc(m.Owners, notHex) {
		return bad("owners are not sorted public keys, at most %d", maxOwners)
	}
	if len(m.Recipients) > MaxRecipients || !strictlySorted(m.Recipients) || slices.ContainsFunc(m.Recipients, func(s string) bool { return !isRecipient(s) }) {
		return bad("recipients are not sorted age recipients, at most %d", MaxRecipients)
	}
	if m.Owners == nil || m.Recipients == nil {
		return bad("a list is missing")
	}
	if notHex(m.HeadsRoot) || notHex(m.BundleSHA256) {
		return bad("heads_root or bundle_sha256 is not 64 lower-case hex digits")
	}
	return m.checkArtifacts(bad)
}

// checkOrigin checks when, by whom and on what the bundle was made.
func (m *Manifest) checkOrigin() error {
	for _, t := range []time.Time{m.CreatedAt, m.AsOf, m.HistorySince} {
		if t.IsZero() && t.Equal(m.HistorySince) {
			continue
		}
		if t.Nanosecond() != 0 || t.Location() != time.UTC || t.Year() < 1970 || t.Year() > 9999 {
			return errors.New("a time is not in whole seconds of UTC since 1970")
		}
	}
	if !slices.Contains(creators, m.CreatedBy) {
		return fmt.Errorf("created_by %.40q is none of %s", m.CreatedBy, strings.Join(creators, ", "))
	}
	if !slices.Contains(consistencies, m.Consistency) {
		return fmt.Errorf("consistency %.40q is none of %s", m.Consistency, strings.Join(consistencies, ", "))
	}
	if err := CheckLabel(m.Software); err != nil {
		return fmt.Errorf("software: %w", err)
	}
	if m.Schema < 0 || m.Schema > 1<<31 {
		return errors.New("schema is no version")
	}
	if m.Parent != "" {
		if err := CheckID(m.Parent); err != nil {
			return fmt.Errorf("parent: %w", err)
		}
	}
	return nil
}

func (m *Manifest) checkArtifacts(bad func(string, ...any) error) error {
	kinds := artifactKinds(m.Incremental())
	if len(m.Artifacts) != len(kinds) {
		return bad("%d artifacts instead of %d", len(m.Artifacts), len(kinds))
	}
	for i, a := range m.Artifacts {
		if a.Kind != kinds[i] || a.Path != kinds[i]+".jsonl" {
			return bad("artifact %d is %.40q, not %s.jsonl", i, a.Path, kinds[i])
		}
		if a.Size < 0 || a.Size > maxArtifact || a.Count < 0 || a.Count > a.Size || (a.Count == 0) != (a.Size == 0) {
			return bad("%s cannot have %d lines in %d bytes", a.Path, a.Count, a.Size)
		}
		if notHex(a.SHA256) {
			return bad("%s: its hash is not 64 lower-case hex digits", a.Path)
		}
	}
	return nil
}

func notHex(s string) bool { return !hex64Rule.MatchString(s) }

func strictlySorted(list []string) bool {
	for i := 1; i < len(list); i++ {
		if list[i-1] >= list[i] {
			return false
		}
	}
	return true
}
