package main

import (
	"encoding/hex"
	"errors"
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/nbd-wtf/go-nostr"
	"github.com/nbd-wtf/go-nostr/nip19"

	"engramd/internal/secrets"
	"engramd/internal/snapshot/bundle"
)

// snapshotFlags are the flags of all verbs; a verb takes some of them.
type snapshotFlags struct {
	agent, tenant                            string
	label, at, createdAt, parent             string
	encrypt                                  texts
	incremental, pin, json                   bool
	bundle, id, from, to                     string
	signers                                  texts
	identity, keyFile                        string
	rollback, dryRun, noPre, redact          bool
	keep, keepAutomatic, days                int
	atTime, createdTime                      time.Time
	keepGiven, automaticGiven, maxAgeIsGiven bool
	tenantGiven                              bool
}

// texts is a flag that may be given several times.
type texts []string

func (t *texts) String() string { return strings.Join(*t, " ") }

func (t *texts) Set(s string) error {
	*t = append(*t, s)
	return nil
}

func (f *snapshotFlags) register(fs *flag.FlagSet, takes []string) {
	fs.StringVar(&f.agent, "agent", "", "")
	f.tenant = bundle.DefaultTenant
	fs.Func("tenant", "", func(s string) error {
		f.tenant, f.tenantGiven = s, true
		return nil
	})
	count := func(at *int, given *bool) func(string) error {
		return func(s string) error {
			if _, err := fmt.Sscanf(s, "%d", at); err != nil || *at < 0 {
				return errors.New("want 0 (no limit) or more")
			}
			*given = true
			return nil
		}
	}
	all := map[string]func(name string){}
	for name, at := range map[string]*string{
		"label": &f.label, "at": &f.at, "created-at": &f.createdAt, "parent": &f.parent, "bundle": &f.bundle, "id": &f.id,
		"from": &f.from, "to": &f.to, "decrypt-identity": &f.identity, "key-file": &f.keyFile,
	} {
		all[name] = func(name string) { fs.StringVar(at, name, "", "") }
	}
	for name, at := range map[string]*bool{
		"incremental": &f.incremental, "pin": &f.pin, "json": &f.json, "rollback": &f.rollback, "dry-run": &f.dryRun,
		"no-auto-pre-snapshot": &f.noPre, "redact-secrets": &f.redact,
	} {
		all[name] = func(name string) { fs.BoolVar(at, name, false, "") }
	}
	all["encrypt"] = func(name string) { fs.Var(&f.encrypt, name, "") }
	all["signer"] = func(name string) { fs.Var(&f.signers, name, "") }
	all["keep"] = func(name string) { fs.Func(name, "", count(&f.keep, &f.keepGiven)) }
	all["keep-automatic"] = func(name string) { fs.Func(name, "", count(&f.keepAutomatic, &f.automaticGiven)) }
	all["days"] = func(name string) { fs.Func(name, "", count(&f.days, &f.maxAgeIsGiven)) }
	for _, name := range takes {
		all[name](name)
	}
}

// check reads the values that have a form.
func (f *snapshotFlags) check() (err error) {
	if f.agent, err = publicKey("--agent", f.agent); err != nil {
		return err
	}
	for i := range f.signers {
		if f.signers[i], err = publicKey("--signer", f.signers[i]); err != nil {
			return err
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
		if *t.at, err = time.Parse(timeLayout, t.text); err != nil {
			return fmt.Errorf("%s: %q is not a time such as 2026-11-20T23:51:00Z", t.name, t.text)
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

// recipients of a new snapshot: nil stands for those of the configuration.
func (f *snapshotFlags) recipients() (*bundle.Recipients, error) {
	if len(f.encrypt) == 0 {
		return nil, nil
	}
	list := []string(f.encrypt)
	if slices.Equal(list, []string{"none"}) {
		list = nil
	}
	r, err := bundle.ParseRecipients(list)
	if err != nil {
		return nil, usageError{fmt.Errorf("--encrypt: %w", err)}
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
