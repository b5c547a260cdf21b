package bundle

import (
	"bytes"
	"crypto"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/rsa"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"testing"

	"filippo.io/age"
	"golang.org/x/crypto/ssh"
)

// An SSH key that stands for nobody.
const (
	sshPublic = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIKxQpG4G8VQ0z8w8l1Ff1p3V0x5HkYtZ5vVbO8dS1QqO"
)

func newIdentity(tb testing.TB) (*age.X25519Identity, Identities) {
	tb.Helper()
	key, err := age.GenerateX25519Identity()
	if err != nil {
		tb.Fatal(err)
	}
	ids, err := ParseIdentities(strings.NewReader("# a comment\n" + key.String() + "\n"))
	if err != nil {
		tb.Fatal(err)
	}
	return key, ids
}

func TestEncryptedBundle(t *testing.T) {
	first, firstIDs := newIdentity(t)
	second, secondIDs := newIdentity(t)
	_, strangers := newIdentity(t)
	o := options()
	var err error
	o.Recipients, err = ParseRecipients([]string{first.Recipient().String(), "age:" + second.Recipient().String(), first.Recipient().String()})
	if err != nil {
		t.Fatal(err)
	}
	src := sample(t, 2)
	w := mustWrite(t, t.TempDir(), src, o)
	if !w.Encrypted || !strings.HasSuffix(w.Path, ".tar.zst.age") || len(w.Manifest.Recipients) != 2 || !slices.IsSorted(w.Manifest.Recipients) {
		t.Errorf("written: %s, recipients %q", w.Path, w.Manifest.Recipients)
	}
	for _, ids := range []Identities{firstIDs, secondIDs} {
		b := mustOpen(t, w.Path, VerifyOptions{Identities: ids})
		if err := same(everything(t, b), everything(t, src)); err != nil {
			t.Error(err)
		}
	}

	closed := mustVerify(t, w.Path, VerifyOptions{})
	if closed.OK() || closed.Check(CheckFileHash).State != OK {
		t.Errorf("without an identity: OK %v, file hash %+v", closed.OK(), closed.Check(CheckFileHash))
	}
	for _, c := range closed.Checks {
		if c.Name != CheckFileHash && (c.State != NotChecked || c.Reason == "") {
			t.Errorf("without an identity: %s is %q: %q", c.Name, c.State, c.Reason)
		}
	}
	if c := mustVerify(t, w.Path, VerifyOptions{Identities: strangers}).Check(CheckEncryption); c.State != Failed {
		t.Errorf("with another identity: %+v", c)
	}

	good, err := os.ReadFile(w.Path)
	if err != nil {
		t.Fatal(err)
	}
	for i := len(ageMagic); i < len(good); i += 37 {
		bad := bytes.Clone(good)
		bad[i] ^= 1
		put(t, w.Path, bad)
		expectFailed(t, fmt.Sprintf("byte %d", i), mustVerify(t, w.Path, VerifyOptions{Identities: firstIDs}), []string{CheckEncryption})
	}
	for _, bad := range [][]byte{good[:len(good)-1], good[:200], append(bytes.Clone(good), 0)} {
		put(t, w.Path, bad)
		expectFailed(t, fmt.Sprintf("%d bytes", len(bad)), mustVerify(t, w.Path, VerifyOptions{Identities: firstIDs}), []string{CheckEncryption})
	}
	bad := bytes.Clone(good)
	bad[3] ^= 1 // no age file any more
	put(t, w.Path, bad)
	expectFailed(t, "magic", mustVerify(t, w.Path, VerifyOptions{Identities: firstIDs}), []string{CheckCompression})
}

func TestParseRecipients(t *testing.T) {
	key, _ := newIdentity(t)
	good := key.Recipient().String()
	r, err := ParseRecipients([]string{sshPublic + " somebody@somewhere", good, sshPublic, " age:" + good + "\n"})
	if err != nil {
		t.Fatal(err)
	}
	if got := r.Names(); !slices.Equal(got, []string{good, sshPublic}) {
		t.Errorf("names: %q", got)
	}
	private := string(newSSHKey(t).private)
	for _, bad := range []string{"", "age1xyzAAAA", good[:len(good)-1], "ssh-ed25519", "ssh-ed25519 AAAAB", "ssh-dss AAAAB", "ecdsa-sha2-nistp256 AAAAB",
		key.String(), "age:" + key.String(), strings.ToLower(key.String()), private, "ssh-ed25519 " + strings.ReplaceAll(private, "\n", "")} {
		_, err := ParseRecipients([]string{good, good, bad})
		if !errors.Is(err, ErrRecipient) || !strings.HasPrefix(err.Error(), "recipients[2]: ") {
			t.Errorf("%q: %v", bad, err)
		}
		for _, word := range strings.Fields(bad) {
			if err != nil && len(word) > 20 && strings.Contains(err.Error(), word) {
				t.Errorf("the error repeats what was given: %v", err)
			}
		}
	}
	for _, bad := range []string{"", "AGE-SECRET-KEY-1QQQ", good, "-----BEGIN OPENSSH PRIVATE KEY-----\nx\n-----END OPENSSH PRIVATE KEY-----", strings.Repeat("#\n", 40<<10)} {
		if _, err := ParseIdentities(strings.NewReader(bad)); !errors.Is(err, ErrIdentity) {
			t.Errorf("identity %.30q: %v", bad, err)
		}
	}
}

// sshKey is a new key as ssh-keygen writes it.
type sshKey struct {
	public  string
	private []byte
}

func newSSHKey(tb testing.TB) sshKey {
	tb.Helper()
	_, key, err := ed25519.GenerateKey(nil)
	if err != nil {
		tb.Fatal(err)
	}
	return marshalSSH(tb, key, "")
}

func marshalSSH(tb testing.TB, key crypto.Signer, passphrase string) sshKey {
	tb.Helper()
	public, err := ssh.NewPublicKey(key.Public())
	if err != nil {
		tb.Fatal(err)
	}
	block, err := ssh.MarshalPrivateKey(key, "somebody@somewhere")
	if passphrase != "" {
		block, err = ssh.MarshalPrivateKeyWithPassphrase(key, "somebody@somewhere", []byte(passphrase))
	}
	if err != nil {
		tb.Fatal(err)
	}
	return sshKey{strings.TrimSpace(string(ssh.MarshalAuthorizedKey(public))) + " somebody@somewhere", pem.EncodeToMemory(block)}
}

// TestSSHKeys encrypts to SSH keys of both types beside one of age: each opens
// it.
func TestSSHKeys(t *testing.T) {
	long, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	ed, rsaKey, stranger := newSSHKey(t), marshalSSH(t, long, ""), newSSHKey(t)
	other, otherIDs := newIdentity(t)
	o := options()
	if o.Recipients, err = ParseRecipients([]string{ed.public, rsaKey.public, other.Recipient().String(), ed.public}); err != nil {
		t.Fatal(err)
	}
	src := sample(t, 2)
	w := mustWrite(t, t.TempDir(), src, o)
	if len(w.Manifest.Recipients) != 3 || strings.Contains(strings.Join(w.Manifest.Recipients, " "), "somebody") {
		t.Errorf("recipients %q", w.Manifest.Recipients)
	}
	identities := func(k sshKey) Identities {
		ids, err := ParseIdentities(bytes.NewReader(k.private))
		if err != nil {
			t.Fatal(err)
		}
		return ids
	}
	for _, ids := range []Identities{identities(ed), identities(rsaKey), otherIDs} {
		if err := same(everything(t, mustOpen(t, w.Path, VerifyOptions{Identities: ids})), everything(t, src)); err != nil {
			t.Error(err)
		}
	}
	if c := mustVerify(t, w.Path, VerifyOptions{Identities: identities(stranger)}).Check(CheckEncryption); c.State != Failed {
		t.Errorf("with another's key: %+v", c)
	}
	_, key, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := ParseIdentities(bytes.NewReader(marshalSSH(t, key, "secret").private)); !errors.Is(err, ErrIdentity) || !strings.Contains(err.Error(), "passphrase") {
		t.Errorf("a key with a passphrase: %v", err)
	}
}

func TestIdentitiesDoNotPrint(t *testing.T) {
	key, ids := newIdentity(t)
	for _, format := range []string{"%v", "%+v", "%#v", "%s"} {
		if text := fmt.Sprintf(format, ids); strings.Contains(text, key.String()) || strings.Contains(text, "X25519Identity") {
			t.Errorf("%s shows %s", format, text)
		}
	}
}

// TestEncryptForRecipients: each of them reads it, a stranger does not, and without
// any nothing is written.
func TestEncryptForRecipients(t *testing.T) {
	first, _ := newIdentity(t)
	second, _ := newIdentity(t)
	stranger, _ := newIdentity(t)
	r, err := ParseRecipients([]string{first.Recipient().String(), second.Recipient().String()})
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := r.Encrypt(&out, strings.NewReader("a plain text")); err != nil || bytes.Contains(out.Bytes(), []byte("plain")) {
		t.Fatalf("%q, %v", out.Bytes(), err)
	}
	for _, key := range []age.Identity{first, second} {
		in, err := age.Decrypt(bytes.NewReader(out.Bytes()), key)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := io.ReadAll(in); string(got) != "a plain text" || err != nil {
			t.Errorf("%q, %v", got, err)
		}
	}
	if _, err := age.Decrypt(bytes.NewReader(out.Bytes()), stranger); err == nil {
		t.Error("a stranger reads it")
	}
	var none bytes.Buffer
	if err := (Recipients{}).Encrypt(&none, strings.NewReader("a plain text")); !errors.Is(err, ErrRecipient) || none.Len() > 0 {
		t.Errorf("%q, %v", none.Bytes(), err)
	}
}
