package bundle

import (
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
)

// finish makes the checks that need everything and puts the report in order.
func (v *verifier) finish() {
	m := v.report.Manifest
	if m != nil {
		v.tallied(CheckOrder, v.order, "")
		v.tallied(CheckEvents, v.events, fmt.Sprintf("%d events", v.read))
		if m.Parent == "" && v.stop == "" && v.declared.n == 0 && slices.Contains(v.owners, false) {
			v.declared.fail(errors.New("the manifest names an owner whom no engram names"))
		}
		v.tallied(CheckDeclared, v.declared, "")
		v.tallied(CheckTime, v.late, "")
		v.tallied(CheckEnvelopes, v.envelopes, "")
		v.finishHeads(m)
		v.finishDecrypts()
	}
	for _, name := range v.names() {
		c, ok := v.found[name]
		if !ok {
			c = Check{Name: name, State: NotChecked, Reason: v.stop}
		}
		c.Asked = v.asked(name)
		v.report.Checks = append(v.report.Checks, c)
	}
}

// tallied sets a check over all events.
func (v *verifier) tallied(name string, t tally, found string) {
	switch {
	case t.n > 1:
		v.set(name, Failed, fmt.Sprintf("%d times, first: %v", t.n, t.first))
	case t.n == 1:
		v.set(name, Failed, t.first.Error())
	case v.stop != "":
		v.set(name, NotChecked, v.stop)
	default:
		v.set(name, OK, found)
	}
}

func (v *verifier) finishHeads(m *Manifest) {
	if v.stop == "" && !v.based {
		const reason = "the parent could not be looked at"
		if v.heads.n == 0 {
			v.set(CheckHeads, NotChecked, reason)
		} else {
			v.tallied(CheckHeads, v.heads, "")
		}
		v.set(CheckRoot, NotChecked, reason)
		return
	}
	if v.stop == "" {
		if n, err := v.state.checkHeads(); err != nil {
			v.heads.fail(err)
			v.heads.n += n - 1
		}
		root := v.state.root()
		v.set(CheckRoot, OK, "")
		if got := hex.EncodeToString(root[:]); got != m.HeadsRoot {
			v.set(CheckRoot, Failed, "the heads make it "+got)
		}
	}
	v.tallied(CheckHeads, v.heads, "")
}

func (v *verifier) finishDecrypts() {
	switch {
	case v.o.Keys == nil:
		v.set(CheckDecrypts, NotChecked, "no key was given")
	case v.decrypts.n == 0 && v.stop == "" && v.decrypted == 0 && v.foreign > 0:
		v.set(CheckDecrypts, NotChecked, "the key is neither the agent's nor an owner's")
	case v.foreign > 0:
		v.tallied(CheckDecrypts, v.decrypts, fmt.Sprintf("%d engrams; %d of other owners were not looked at", v.decrypted, v.foreign))
	default:
		v.tallied(CheckDecrypts, v.decrypts, fmt.Sprintf("%d engrams", v.decrypted))
	}
}

// names lists the checks of this bundle in the order of the report.
func (v *verifier) names() []string {
	var names []string
	if !v.written {
		names = append(names, CheckFileHash)
		if v.report.Encrypted {
			names = append(names, CheckEncryption)
		}
	}
	names = append(names, CheckCompression, CheckEntries, CheckManifest, CheckBundleID, CheckRequest, CheckSignature, CheckSeal)
	incremental := v.report.Manifest != nil && v.report.Manifest.Incremental()
	for _, kind := range artifactKinds(incremental) {
		names = append(names, "artifact "+kind+".jsonl")
	}
	names = append(names, CheckOrder, CheckEvents, CheckDeclared, CheckTime, CheckEnvelopes)
	if incremental {
		names = append(names, CheckParent)
	}
	return append(names, CheckHeads, CheckRoot, CheckDecrypts)
}

// asked reports whether the bundle is not OK without this check.
func (v *verifier) asked(name string) bool {
	switch name {
	case CheckBundleID:
		return v.wantID != ""
	case CheckRequest:
		return v.o.Tenant != "" || v.o.Agent != ""
	case CheckSignature:
		return len(v.o.Signers) > 0
	case CheckDecrypts:
		return v.o.Keys != nil
	}
	return true
}
