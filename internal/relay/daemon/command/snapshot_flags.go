package command

import (
	"encoding/hex"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/nbd-wtf/go-nostr"
	"github.com/nbd-wtf/go-nostr/nip19"

	"engramd/internal/platform/timeparse"
	"engramd/internal/relay/daemon/wiring"
	"engramd/internal/relay/snapshots"
	"engramd/internal/secrets"
	"engramd/internal/snapshot/bundle"
)

// snapshotFlags are the flags of all verbs; a verb takes some of them.
type snapshotFlags struct {
	agent, tenant                    string
	label, at, createdAt, parent     string
	encrypt                          []string
	incremental, pin, json           bool
	bundle, id, from, to             string
	signers, trust                   []string
	allowEmpty, allowUnsigned, force bool
	identity, keyFile                string
	rollback, dryRun, noPre, redact  bool
	keep, keepAutomatic, days        *int // nil when not given
	atTime, createdTime              time.Time
	tenantGiven                      bool
}

// register adds the flags that a verb takes.
func (f *snapshotFlags) register(fs *flag.FlagSet, takes []string) {
	all := flag.NewFlagSet("", flag.ContinueOnError)
	all.StringVar(&f.agent, "agent", "", "the agent's `KEY`, hex or npub")
	f.tenant = bundle.DefaultTenant
	all.Func("tenant", "`NAME` of the tenant (default \"default\")", func(s string) error {
		f.tenant, f.tenantGiven = s, true
		return nil
	})
	all.StringVar(&f.label, "label", "", "`TEXT` to remember it by")
	all.StringVar(&f.at, "at", "", "rebuild the memory as it was here at a `TIME`, by when things arrived: 2026-11-20T23:51:00Z, 2h (ago), yesterday, or a date (the end of that day)")
	all.StringVar(&f.createdAt, "created-at", "", "`TIME` to date the file with; retention (order and age) goes by it. The file still shows the memory of now, or of --at. With both times the same memory gives the same bytes")
	all.StringVar(&f.parent, "parent", "", "make an incremental one on top of the one with this `ID`")
	all.StringVar(&f.bundle, "bundle", "", "`FILE` of the snapshot, of anybody")
	all.StringVar(&f.id, "id", "", "`ID` of the snapshot; it may be given without --id, too")
	all.StringVar(&f.from, "from", "", "`FILE` of the snapshot")
	all.StringVar(&f.to, "to", "", "`FILE` to make")
	all.StringVar(&f.identity, "decrypt-identity", "", "`FILE` with the age identity, or the SSH key, that opens an encrypted one")
	all.StringVar(&f.keyFile, "key-file", "", "`FILE` with a secret key: the agent's or an owner's reads what it may; create signs with it")
	all.BoolVar(&f.incremental, "incremental", false, "make an incremental one on top of the newest")
	all.BoolVar(&f.pin, "pin", false, "exempt it from retention")
	all.BoolVar(&f.json, "json", false, "print JSON")
	all.BoolVar(&f.rollback, "rollback", false, "roll back: take newer heads away")
	all.BoolVar(&f.dryRun, "dry-run", false, "print the plan, and all that would be refused, and do nothing")
	all.BoolVar(&f.noPre, "no-auto-pre-snapshot", false, "keep no snapshot of the state before")
	all.BoolVar(&f.redact, "redact-secrets", false, "cannot be done here")
	all.BoolVar(&f.allowEmpty, "allow-empty", false, "also of an agent without memory")
	all.BoolVar(&f.allowUnsigned, "allow-unsigned", false, "take it although nobody who is trusted signed it")
	all.BoolVar(&f.force, "force", false, "delete it also if it is pinned")
	all.Func("keep", "`N` to keep of each kind; 0 is no limit", count(&f.keep))
	all.Func("keep-automatic", "`N` to keep of those made automatically; 0 is no limit", count(&f.keepAutomatic))
	all.Func("days", "`N` days to keep them; 0 is no limit", count(&f.days))
	all.Func("encrypt", "encrypt it to `age:RECIPIENT`, several times if need be; none: to nobody", text(&f.encrypt))
	all.Func("signer", "ask for a signature by `KEY`", text(&f.signers))
	all.Func("trust", "believe the signature of `KEY`, beside the agent's, this relay's and snapshot.trusted_keys", text(&f.trust))
	for _, name := range slices.Concat([]string{"agent", "tenant"}, takes) {
		one := all.Lookup(name)
		fs.Var(one.Value, name, one.Usage)
	}
}

// text adds to a list.
func text(to *[]string) func(string) error {
	return func(s string) error {
		*to = append(*to, s)
		return nil
	}
}

// count reads a number that is not negative.
func count(to **int) func(string) error {
	return func(s string) error {
		n, err := strconv.Atoi(s)
		if err != nil || n < 0 {
			return errors.New("want 0 (no limit) or more")
		}
		*to = &n
		return nil
	}
}

// check reads the values that have a form.
func (f *snapshotFlags) check() (err error) {
	if f.agent, err = publicKey("--agent", f.agent); err != nil {
		return err
	}
	for name, keys := range map[string][]string{"--signer": f.signers, "--trust": f.trust} {
		for i := range keys {
			if keys[i], err = publicKey(name, keys[i]); err != nil {
				return err
			}
		}
	}
	if err := bundle.CheckTenant(f.tenant); err != nil {
		return fmt.Errorf("--tenant: %w", err)
	}
	if err := bundle.CheckLabel(f.label); err != nil {
		return fmt.Errorf("--label: %w", err)
	}
	if err := secrets.Check(f.label); err != nil { // it is kept in clear text
		return fmt.Errorf("--label: %w", err)
	}
	for name, id := range map[string]string{"--id": f.id, "--parent": f.parent} {
		if id != "" {
			if err := bundle.CheckID(id); err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
		}
	}
	for _, t := range []struct {
		name, text string
		at         *time.Time
	}{{"--at", f.at, &f.atTime}, {"--created-at", f.createdAt, &f.createdTime}} {
		if t.text == "" {
			continue
		}
		if *t.at, err = timeparse.Parse(t.text, timeparse.At, time.Now()); err != nil {
			return fmt.Errorf("%s: %w", t.name, err)
		}
	}
	if f.redact {
		return errors.New("--redact-secrets: what engramd has is encrypted and signed, so nothing in it is redacted; engramctl snapshot export --plain, with the agent's or an owner's key, redacts")
	}
	return nil
}

// publicKey reads a pubkey, hex or npub; "" stays.
func publicKey(name, s string) (string, error) {
	if s == "" || bundle.CheckAgent(s) == nil {
		return s, nil
	}
	if strings.HasPrefix(s, "npub1") {
		if prefix, value, err := nip19.Decode(s); err == nil && prefix == "npub" {
			return value.(string), nil // an npub always decodes to hex
		}
	}
	if low := strings.ToLower(s); bundle.CheckAgent(low) == nil {
		return low, nil
	}
	return "", fmt.Errorf("%s: want a pubkey: 64 hex digits or an npub", name)
}

// needAgent returns the agent that must have been named.
func (f *snapshotFlags) needAgent() (string, error) {
	if f.agent == "" {
		return "", wiring.Usage(errors.New("whose memory? Give --agent"))
	}
	return f.agent, nil
}

// needID returns the agent and the id that must have been named.
func (f *snapshotFlags) needID() (agent, id string, err error) {
	if agent, err = f.needAgent(); err != nil {
		return "", "", err
	}
	if f.id == "" {
		return "", "", wiring.Usage(errors.New("which snapshot? Give its id; engramd snapshot ls shows them"))
	}
	return agent, f.id, nil
}

// which names a snapshot by an id or a path.
func (f *snapshotFlags) which(name string) (w snapshots.Which, err error) {
	w = snapshots.Which{Tenant: f.tenant, Agent: f.agent, Signers: f.signers, Trusted: f.trust}
	if bundle.CheckID(name) == nil {
		w.ID = name
	} else if w.Path, err = filepath.Abs(name); err != nil {
		return w, err
	}
	if w.Identities, err = wiring.IdentitiesFrom(f.identity); err != nil {
		return w, err
	}
	secret, err := f.secret()
	if err == nil && secret.hex != "" {
		w.Keys, err = bundle.KeysOf(secret.hex, secret.public)
	}
	return w, err
}

// recipients of a new snapshot: nil stands for those of the configuration.
func (f *snapshotFlags) recipients() (*bundle.Recipients, error) {
	if len(f.encrypt) == 0 {
		return nil, nil
	}
	list := f.encrypt
	if slices.Equal(list, []string{"none"}) {
		list = nil
	}
	r, err := bundle.ParseRecipients(list)
	if err != nil {
		return nil, wiring.Usage(fmt.Errorf("--encrypt: %w", err))
	}
	return &r, nil
}

// keyPair is a secret key with its public half; both empty for none.
type keyPair struct{ hex, public string }

// secret reads the key file. No error repeats what is in it.
func (f *snapshotFlags) secret() (keyPair, error) {
	if f.keyFile == "" {
		return keyPair{}, nil
	}
	info, err := os.Stat(f.keyFile)
	if err != nil {
		return keyPair{}, fmt.Errorf("--key-file: %w", err)
	}
	if !info.Mode().IsRegular() || info.Size() > 4096 {
		return keyPair{}, fmt.Errorf("--key-file: %s is no file with a key", f.keyFile)
	}
	if info.Mode().Perm()&0o077 != 0 {
		return keyPair{}, fmt.Errorf("--key-file: %s can be read by others: chmod 600 it, and treat the key as known to them", f.keyFile)
	}
	b, err := os.ReadFile(f.keyFile)
	if err != nil {
		return keyPair{}, fmt.Errorf("--key-file: %w", err)
	}
	secret := strings.ToLower(strings.TrimSpace(string(b)))
	if strings.HasPrefix(secret, "nsec1") {
		if prefix, value, err := nip19.Decode(secret); err == nil && prefix == "nsec" {
			secret, _ = value.(string)
		}
	}
	if raw, err := hex.DecodeString(secret); err != nil || len(raw) != 32 {
		return keyPair{}, fmt.Errorf("--key-file: %s does not hold one secret key, nsec1… or 64 hex digits", f.keyFile)
	}
	public, err := nostr.GetPublicKey(secret)
	if err != nil {
		return keyPair{}, fmt.Errorf("--key-file: the key in %s cannot be used", f.keyFile)
	}
	return keyPair{secret, public}, nil
}
