package bundle

import (
	"bufio"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
)

// verifier makes the checks of one bundle. It is used by one goroutine.
type verifier struct {
	ctx     context.Context
	o       VerifyOptions
	lim     Limits
	depth   int    // how many bundles rest on this one
	written bool   // what a writer writes: neither hash, encryption nor parents to look for
	wantID  string // from the file's name; empty if it says none

	report *Report
	found  map[string]Check
	stop   string // why reading ended early; empty if it did not

	manifestJSON []byte
	base         *Bundle // given by the writer
	parent       *Bundle
	state        *State
	based        bool // state has what the parents hold, if there are any

	events, order, declared, late, envelopes, heads, decrypts tally
	decrypted, foreign                                        int64 // engrams with and without a key
	read                                                      int64 // events
	malformed                                                 int
	owners                                                    []bool // of the manifest, which were seen
}

// tally counts what failed in one check and keeps the first reason.
type tally struct {
	n     int
	first error
}

func (t *tally) fail(err error) {
	if t.n++; t.first == nil {
		t.first = err
	}
}

func newVerifier(ctx context.Context, o VerifyOptions, depth int) *verifier {
	return &verifier{ctx: ctx, o: o, lim: o.Limits.withDefaults(), depth: depth,
		report: &Report{}, found: map[string]Check{}, state: newState()}
}

func (v *verifier) set(name string, state CheckState, reason string) {
	v.found[name] = Check{Name: name, State: state, Reason: reason}
}

// stream checks a compressed tar, as far as it can be read.
func (v *verifier) stream(in io.Reader) {
	below := &layer{r: in}
	zr, err := newDecompressor(below)
	if err != nil {
		v.stop = "the compressed stream could not be read"
		v.set(CheckCompression, Failed, err.Error())
		return
	}
	defer zr.Close()
	z := &layer{r: zr}
	err = v.entries(&tarReader{r: bufio.NewReaderSize(z, 64<<10)})
	switch {
	case below.err != nil: // the fault lies below and is named there
		v.stop = "the file could not be read to its end"
	case z.err != nil:
		v.stop = "the compressed stream is damaged"
		v.set(CheckCompression, Failed, z.err.Error())
	case errors.Is(err, errEntry):
		v.stop = "the archive is not that of a snapshot"
		v.set(CheckEntries, Failed, err.Error())
	case err != nil:
		v.stop = err.Error()
	default:
		v.set(CheckCompression, OK, "")
		v.set(CheckEntries, OK, "")
	}
}

// entries reads the archive from its first entry to its end.
func (v *verifier) entries(tr *tarReader) error {
	if err := v.readManifest(tr); err != nil {
		return err
	}
	if err := v.openParent(); err != nil {
		return err
	}
	name, size, err := tr.next()
	if err == nil && name == signatureName {
		if err = v.readSignature(tr, size); err != nil {
			return err
		}
		name, size, err = tr.next()
	} else {
		v.set(CheckSignature, NotChecked, "it is not signed")
		if len(v.o.Signers) > 0 {
			v.set(CheckSignature, Failed, "it is not signed")
		}
	}
	for _, a := range v.report.Manifest.Artifacts {
		if errors.Is(err, io.EOF) {
			return fmt.Errorf("%w: %s is missing", errEntry, a.Path)
		}
		if err != nil {
			return err
		}
		if name != a.Path {
			return explainName(name, a.Path)
		}
		if err := v.readArtifact(tr, a, size); err != nil {
			return err
		}
		name, size, err = tr.next()
	}
	if err == nil {
		return explainName(name, "the end")
	}
	if errors.Is(err, io.EOF) {
		return nil
	}
	return err
}

// readWhole reads a small entry.
func readWhole(tr *tarReader, name string, size, limit int64) ([]byte, error) {
	if size > limit {
		return nil, fmt.Errorf("%w: %s has %d bytes, more than %d", errEntry, name, size, limit)
	}
	b := make([]byte, size)
	if _, err := io.ReadFull(tr, b); err != nil && size > 0 {
		return nil, err
	}
	return b, nil
}

func (v *verifier) readManifest(tr *tarReader) error {
	name, size, err := tr.next()
	if errors.Is(err, io.EOF) {
		return fmt.Errorf("%w: it is empty", errEntry)
	}
	if err != nil {
		return err
	}
	if name != manifestName {
		return explainName(name, manifestName)
	}
	if v.manifestJSON, err = readWhole(tr, name, size, maxManifest); err != nil {
		return err
	}
	m, err := ParseManifest(v.manifestJSON)
	if err != nil {
		v.set(CheckManifest, Failed, err.Error())
		return errors.New("the manifest cannot be relied on")
	}
	v.set(CheckManifest, OK, "")
	v.report.Manifest, v.owners = m, make([]bool, len(m.Owners))
	v.checkID(m)
	v.checkRequest(m)
	v.set(CheckSeal, OK, "")
	if seal := m.Seal(); seal != m.BundleSHA256 {
		v.set(CheckSeal, Failed, "bundle_sha256 is not that of the artifacts' hashes")
	}
	if m.Events() > int64(v.lim.Events) {
		return fmt.Errorf("it holds more than %d events: %w", v.lim.Events, ErrLimit)
	}
	return nil
}

func (v *verifier) checkID(m *Manifest) {
	v.report.ID = ManifestID(m.CreatedAt, v.manifestJSON)
	switch v.wantID {
	case "":
		v.set(CheckBundleID, NotChecked, "the file's name is not that of a snapshot")
	case v.report.ID:
		v.set(CheckBundleID, OK, "")
	default:
		v.set(CheckBundleID, Failed, "the file's name says "+v.wantID+", the manifest makes it "+v.report.ID)
	}
}

func (v *verifier) checkRequest(m *Manifest) {
	switch {
	case v.o.Tenant != "" && v.o.Tenant != m.Tenant:
		v.set(CheckRequest, Failed, fmt.Sprintf("the snapshot is of tenant %q, tenant %q was asked for", m.Tenant, v.o.Tenant))
	case v.o.Agent != "" && v.o.Agent != m.Agent:
		v.set(CheckRequest, Failed, fmt.Sprintf("the snapshot is of agent %s, agent %s was asked for", m.Agent, v.o.Agent))
	case v.o.Tenant == "" && v.o.Agent == "":
		v.set(CheckRequest, NotChecked, "neither tenant nor agent was given")
	default:
		v.set(CheckRequest, OK, "")
	}
}

func (v *verifier) readSignature(tr *tarReader, size int64) error {
	sig, err := readWhole(tr, signatureName, size, maxSignature)
	if err != nil {
		return err
	}
	key, err := checkSignature(sig, v.manifestJSON)
	if err != nil {
		v.set(CheckSignature, Failed, err.Error())
		return nil
	}
	v.report.SignedBy = key
	switch {
	case slices.Contains(v.o.Signers, key):
		v.set(CheckSignature, OK, "by "+key)
	case len(v.o.Signers) > 0:
		v.set(CheckSignature, Failed, "by "+key+", which is none of the keys asked for")
	case key == v.report.Manifest.Agent:
		v.set(CheckSignature, OK, "by the agent")
	case slices.Contains(v.o.Trusted, key):
		v.set(CheckSignature, OK, "by "+key+", which is trusted")
	default:
		v.set(CheckSignature, NotChecked, "unknown signer: "+key+" signed it, whom nobody said to trust (--trust KEY)")
	}
	v.report.Trusted = v.found[CheckSignature].State == OK
	return nil
}

// openParent verifies what an incremental bundle rests on.
func (v *verifier) openParent() error {
	m := v.report.Manifest
	switch {
	case !m.Incremental():
		v.based = true
		return nil
	case v.written:
		v.state, v.based = v.base.state.child(), true
		v.set(CheckParent, OK, m.Parent)
		return nil
	case v.o.Parent == nil:
		v.set(CheckParent, NotChecked, "parent "+m.Parent+" was not given")
		return nil
	case v.depth >= v.lim.Chain:
		v.set(CheckParent, NotChecked, fmt.Sprintf("it rests on more than %d others", v.lim.Chain))
		return nil
	}
	path, err := v.o.Parent(m.Parent)
	if err != nil {
		v.set(CheckParent, NotChecked, fmt.Sprintf("parent %s: %v", m.Parent, err))
		return nil
	}
	o := v.o
	o.Tenant, o.Agent, o.Signers = m.Tenant, m.Agent, nil
	parent, err := verifyFile(v.ctx, path, o, v.depth+1)
	if err != nil {
		v.set(CheckParent, NotChecked, fmt.Sprintf("parent %s: %v", m.Parent, err))
		return v.ctx.Err()
	}
	v.report.Parents = append([]*Report{parent.Report}, parent.Report.Parents...)
	parent.Report.Parents = nil
	if parent.ID != m.Parent {
		v.set(CheckParent, Failed, filepath.Base(path)+" is "+parent.ID+", not "+m.Parent)
		return nil
	}
	if !parent.Report.OK() {
		v.set(CheckParent, Failed, "parent "+m.Parent+" does not verify")
		return nil
	}
	v.set(CheckParent, OK, m.Parent)
	v.parent, v.state, v.based = parent, parent.state, true
	parent.state = nil // one state for the whole chain
	v.state.rebase()
	if v.state.Len()+int(m.Events()) > v.lim.Events {
		return fmt.Errorf("it and its parents hold more than %d events: %w", v.lim.Events, ErrLimit)
	}
	return nil
}

// readArtifact checks an artifact's hash, size and count, and each of its
// lines.
func (v *verifier) readArtifact(tr *tarReader, a Artifact, size int64) error {
	c := &summer{h: sha256.New()}
	in := io.TeeReader(tr, c)
	lines := &lineReader{r: bufio.NewReaderSize(in, 64<<10), max: v.lim.Line}
	var err error
	if a.Kind == gone {
		err = v.readGone(lines)
	} else {
		err = v.readEvents(lines, Class(slices.Index(classNames[:], a.Kind)))
	}
	if errors.Is(err, errLine) {
		v.events.fail(fmt.Errorf("%s: %w", a.Path, err))
		if !errors.Is(err, ErrLimit) { // gigabytes of nonsense are not read for the hash
			err = nil
		}
	}
	if err != nil {
		return err
	}
	if _, err := io.Copy(io.Discard, in); err != nil {
		return err
	}
	name := "artifact " + a.Path
	switch sum := hex.EncodeToString(c.h.Sum(nil)); {
	case size != a.Size:
		v.set(name, Failed, fmt.Sprintf("%d bytes instead of %d", size, a.Size))
	case c.lines != a.Count:
		v.set(name, Failed, fmt.Sprintf("%d lines instead of %d", c.lines, a.Count))
	case sum != a.SHA256:
		v.set(name, Failed, "it has SHA-256 "+sum)
	default:
		v.set(name, OK, fmt.Sprintf("%d", a.Count))
	}
	return nil
}
