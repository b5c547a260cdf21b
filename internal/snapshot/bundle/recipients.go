package bundle

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"filippo.io/age"
	"filippo.io/age/agessh"
)

// ErrRecipient and ErrIdentity are what every error about a key of age is. They
// never repeat what was given: it may be a secret key in the wrong place.
var (
	ErrRecipient = errors.New("not an age recipient")
	ErrIdentity  = errors.New("not an age identity")
)

// Recipients are the public keys that bundles are encrypted to. The zero value
// encrypts nothing.
type Recipients struct {
	names []string // normal form, sorted
	keys  []age.Recipient
}

// Names returns the keys as the manifest has them: sorted, each once, without
// comments.
func (r Recipients) Names() []string { return append([]string{}, r.names...) }

// Empty reports whether there are none.
func (r Recipients) Empty() bool { return len(r.keys) == 0 }

// Encrypt writes what it reads as a file of age that they can open. For none it is
// ErrRecipient.
func (r Recipients) Encrypt(to io.Writer, from io.Reader) error {
	if r.Empty() {
		return fmt.Errorf("%w: there is none", ErrRecipient)
	}
	enc, err := age.Encrypt(to, r.keys...)
	if err != nil {
		return fmt.Errorf("encrypt: %w", err)
	}
	_, err = io.Copy(enc, from)
	return errors.Join(err, enc.Close())
}

// ParseRecipients reads age recipients: X25519 keys ("age1…") and SSH public
// keys ("ssh-ed25519 …", "ssh-rsa …"), each with or without "age:" before it.
// Duplicates are folded, comments of SSH keys dropped. The error is
// ErrRecipient and names the position, as recipients[2].
func ParseRecipients(texts []string) (Recipients, error) {
	found := map[string]age.Recipient{}
	for i, text := range texts {
		name, key, err := parseRecipient(text)
		if err != nil {
			return Recipients{}, fmt.Errorf("recipients[%d]: %w", i, err)
		}
		found[name] = key
	}
	if len(found) > MaxRecipients {
		return Recipients{}, fmt.Errorf("%w: more than %d", ErrRecipient, MaxRecipients)
	}
	r := Recipients{names: slices.Sorted(maps.Keys(found))}
	for _, name := range r.names {
		r.keys = append(r.keys, found[name])
	}
	return r, nil
}

func parseRecipient(text string) (string, age.Recipient, error) {
	text = strings.TrimPrefix(strings.TrimSpace(text), "age:")
	if strings.HasPrefix(text, "ssh-") {
		fields := strings.Fields(text)
		if len(fields) < 2 {
			return "", nil, fmt.Errorf("%w: an SSH key has a type and a key", ErrRecipient)
		}
		name := fields[0] + " " + fields[1]
		key, err := agessh.ParseRecipient(name)
		if err != nil {
			return "", nil, fmt.Errorf("%w: of SSH keys ssh-ed25519 and ssh-rsa are understood", ErrRecipient)
		}
		return name, key, nil
	}
	if up := strings.ToUpper(text); strings.HasPrefix(up, "AGE-SECRET-KEY") || strings.Contains(up, "PRIVATE KEY") {
		return "", nil, fmt.Errorf("%w: it is a secret key; give the public one, age1… or ssh-…", ErrRecipient)
	}
	key, err := age.ParseX25519Recipient(text)
	if err != nil {
		return "", nil, fmt.Errorf("%w: want age1…, or an SSH public key (ssh-ed25519, ssh-rsa)", ErrRecipient)
	}
	return key.String(), key, nil
}

// isRecipient reports whether s is a recipient in normal form.
func isRecipient(s string) bool {
	name, _, err := parseRecipient(s)
	return err == nil && name == s
}

// Identities are the secret keys that open encrypted bundles.
type Identities struct{ keys []age.Identity }

// Empty reports whether there are none.
func (i Identities) Empty() bool { return len(i.keys) == 0 }

// Decrypt reads a file of age that they open. The error is ErrIdentity if none of
// them does, and otherwise says what is wrong with the file.
func (i Identities) Decrypt(from io.Reader) (io.Reader, error) {
	if i.Empty() {
		return nil, fmt.Errorf("%w: there is none", ErrIdentity)
	}
	plain, err := age.Decrypt(from, i.keys...)
	if _, none := errors.AsType[*age.NoIdentityMatchError](err); none {
		return nil, fmt.Errorf("%w that opens it", ErrIdentity)
	}
	return plain, err
}

// String does not show the keys.
func (i Identities) String() string { return fmt.Sprintf("%d age identities", len(i.keys)) }

// GoString does not show the keys.
func (i Identities) GoString() string { return i.String() }

// ParseIdentities reads an identity file: AGE-SECRET-KEY-1… lines as age-keygen
// writes them, or one SSH private key without a passphrase; at most 64 KiB. The
// error is ErrIdentity.
func ParseIdentities(r io.Reader) (Identities, error) {
	b, err := io.ReadAll(io.LimitReader(r, 64<<10+1))
	if err != nil {
		return Identities{}, fmt.Errorf("read identities: %w", err)
	}
	if len(b) > 64<<10 {
		return Identities{}, fmt.Errorf("%w: the file is larger than 64 KiB", ErrIdentity)
	}
	if bytes.HasPrefix(bytes.TrimSpace(b), []byte("-----BEGIN")) {
		key, err := agessh.ParseIdentity(b)
		if err != nil {
			return Identities{}, fmt.Errorf("%w: the SSH key cannot be used, perhaps it has a passphrase", ErrIdentity)
		}
		return Identities{keys: []age.Identity{key}}, nil
	}
	keys, err := age.ParseIdentities(bytes.NewReader(b))
	if err != nil {
		return Identities{}, fmt.Errorf("%w: expected lines AGE-SECRET-KEY-1… or an SSH private key", ErrIdentity)
	}
	return Identities{keys: keys}, nil
}
