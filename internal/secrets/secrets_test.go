package secrets

import (
	"errors"
	"strings"
	"testing"
)

// Values are put together here, so that the file itself holds nothing that
// another scanner would take for a leak.
const (
	hex64   = "3bf0c63fcb93463407af97a5e5ee64fa883d107ef9e558472c4eb9aaefa459d1"
	hex64b  = "7e7e9c42a91bfef19fa929e5fda1b72e0ebc1a4c1141673e2794234d86addf4e"
	bech58  = "vl029mgpspedva04g90vltkh6fvh240zqtv9k0t9af8935ke9laqsnlfe5"
	alnum36 = "aB3dE5fG7hJ9kL1mN2pQ4rS6tU8vW0xYzA1b"
	alnum48 = alnum36 + "C3dE5fG7hJ9k"
	base32  = "SUAM4QKZ7ORBYX25CDG3HPNTV6EIJWLF4QKZ7ORBYX25CDG3HPNTV6EIJW"
)

func rep(text string, n int) string { return strings.Repeat(text, n) }

func TestFindsSecrets(t *testing.T) {
	pem := "-----BEGIN PRIVATE KEY-----\nMC4CAQAwBQYDK2VwBCIEIHx9nFh2o3J5Qd7aZk1mVb8cYtRwXeUpLs0iOgNqBvKj\n-----END PRIVATE KEY-----"
	for _, tc := range []struct{ kind, value string }{
		{"Nostr secret key", "nsec1" + bech58},
		{"Nostr secret key", strings.ToUpper("nsec1" + bech58)},
		{"encrypted Nostr secret key", "ncryptsec1" + bech58 + bech58},
		{"age secret key", "AGE-SECRET-KEY-1" + strings.ToUpper(bech58)},
		{"private key block", pem},
		{"private key block", strings.ReplaceAll(pem, "\n", `\n`)},
		{"private key block", strings.ReplaceAll(pem, "PRIVATE KEY", "OPENSSH PRIVATE KEY")},
		{"private key block", "-----BEGIN PGP PRIVATE KEY BLOCK-----\nVersion: GnuPG v2\n\n" + alnum48 + "\n-----END PGP PRIVATE KEY BLOCK-----"},
		{"AWS access key", "AKIA" + "Q7ZKYB3MPNWX5D2T"},
		{"GitHub token", "ghp_" + alnum36},
		{"GitHub token", "github_pat_11ABCDEFG0" + alnum36 + "_" + alnum36},
		{"GitLab token", "glpat-" + alnum36[:20]},
		{"Slack token", "xoxb-123456789012-1234567890123-" + alnum36[:24]},
		{"Slack webhook", "hooks.slack.com/services/" + "T01ABCDEFGH/B01ABCDEFGH/" + alnum36[:24]},
		{"Stripe key", "sk_live_" + alnum36},
		{"OpenAI key", "sk-proj-" + alnum48},
		{"API key (sk-)", "sk-" + alnum48},
		{"Anthropic key", "sk-ant-api03-" + alnum48 + "-" + alnum36},
		{"Google API key", "AIza" + alnum36[:35]},
		{"npm token", "npm_" + alnum36},
		{"PyPI token", "pypi-AgEIcHlwaS5vcmc" + alnum48},
		{"Hugging Face token", "hf_" + alnum36[:34]},
		{"Vault token", "hvs." + alnum48},
		{"SendGrid key", "SG." + alnum36[:22] + "." + alnum48[:43]},
		{"DigitalOcean token", "dop_v1_" + hex64},
		{"Telegram bot token", "123456789:AA" + alnum36[:33]},
		{"Discord bot token", "M" + alnum36[:23] + ".G1a2B3." + alnum36},
		{"Azure client secret", "aB3" + "8Q~" + alnum36[:34]},
		{"Azure storage key", "AccountKey=" + alnum48 + alnum36 + "+/=="},
		{"JSON web token", "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0." + alnum36},
		{"Bitcoin secret key", "5HueCGU8rMjxEXxiPuD5BDku4MkFqeZyd4dZ1jvhTVqvbTLvyTJ"},
		{"Bitcoin secret key", "xprv9s21ZrQH143K3" + alnum48 + alnum48[:47]},
		{"NATS seed", base32},
		{"Cashu token", "cashuB" + alnum48 + alnum48},
		{"remote signer URI", "bunker://" + hex64 + "?relay=wss%3A%2F%2Frelay.example&secret=" + alnum36[:12]},
	} {
		for _, around := range [][2]string{{"", ""}, {"first line\nkey: ", "\nlast"}, {`{"k":"`, `"}`}, {"it is ", ", they said"}, {`x\n`, " "}, {"(", ")."}} {
			text := around[0] + tc.value + around[1]
			found := Find(text)
			if len(found) != 1 {
				t.Errorf("%s in %q: %d findings %v", tc.kind, around, len(found), found)
				continue
			}
			if f := found[0]; f.Kind != tc.kind || text[f.Start:f.End] != tc.value {
				t.Errorf("%s in %q: found %s at %d..%d", tc.kind, around, f.Kind, f.Start, f.End)
			}
		}
	}
}

// TestFindsHexKeys: 64 hex digits are a key only beside a word that says so.
func TestFindsHexKeys(t *testing.T) {
	for _, text := range []string{
		"secret: " + hex64, "secret key = 0x" + hex64, "NOSTR_SECRET_KEY=" + hex64, `{"private_key":"` + hex64 + `"}`, "privateKey: '" + hex64 + "'",
		"sk=" + hex64, "sk_" + hex64, "the private half is " + hex64 + ", keep it", "Secret key:\n  " + hex64, "- " + hex64 + " (secret key of the bot)",
		"nostr+walletconnect://" + hex64b + "?relay=wss://r.example&secret=" + hex64, "pubkey " + hex64b + ", secret " + hex64,
		"private key: " + strings.ToUpper(hex64), "api key " + hex64, "conversation key: " + hex64, "| sk | " + hex64 + " |",
		"seed: " + hex64 + hex64b,
	} {
		found := Find(text)
		if len(found) != 1 || found[0].Kind != "secret key in hex" || !strings.EqualFold(strings.TrimSuffix(text[found[0].Start:found[0].End], hex64b), hex64) {
			t.Errorf("%q: %v", text, found)
		}
	}
}

func TestPassesWhatIsNoSecret(t *testing.T) {
	for name, text := range map[string]string{
		"nothing":                    "",
		"prose":                      "Keep the secret of the private garden: sk, token and password are only words.",
		"bare hex":                   hex64,
		"event id":                   "see event " + hex64,
		"nostr event":                `{"id":"` + hex64 + `","pubkey":"` + hex64b + `","tags":[["p","` + hex64 + `"],["e","` + hex64b + `"]],"sig":"` + hex64 + hex64b + `"}`,
		"id beside a secret word":    "the secret talk has id " + hex64,
		"tag beside a secret word":   `private group: ["p","` + hex64 + `"]`,
		"public beside secret":       "secret: in the safe; public key: " + hex64,
		"hash of a private repo":     "private repo, commit " + hex64,
		"sha256sum":                  hex64 + "  secret-guard.tar.zst",
		"docker digest":              "registry.example/private/image@sha256:" + hex64,
		"go.sum":                     "github.com/x/secrets v1.0.0 h1:47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=",
		"git commit":                 "commit 9fceb02d0ae598e95dc970b74767f19372d61af8 adds the secret guard",
		"uuid":                       "secret of 550e8400-e29b-41d4-a716-446655440000",
		"npub":                       "npub1" + bech58,
		"note":                       "note1" + bech58 + " nevent1" + bech58 + bech58,
		"short nsec":                 "an nsec1… is a secret key, nsec1abc is none",
		"age recipient":              "age1" + bech58,
		"md5":                        "secret d41d8cd98f00b204e9800998ecf8427e",
		"longer hex":                 "secret " + hex64 + "ab",
		"code that looks for keys":   `if strings.HasPrefix(s, "-----BEGIN PRIVATE KEY-----") && strings.Contains(s, "-----END PRIVATE KEY-----") {`,
		"elided block":               "-----BEGIN PRIVATE KEY-----\n...\n-----END PRIVATE KEY-----",
		"public key block":           "-----BEGIN PUBLIC KEY-----\nMCowBQYDK2VwAyEAHx9nFh2o3J5Qd7aZk1mVb8cYtRwXeUpLs0iOgNqBvKg=\n-----END PUBLIC KEY-----",
		"certificate":                "-----BEGIN CERTIFICATE-----\n" + alnum48 + "\n-----END CERTIFICATE-----",
		"ssh public key":             "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIOMqqnkVzrm0SdG6UOoqKLsabgH5C9okWi0dh2l9GKJl me@host",
		"css class":                  "sk-circle-fade-dot sk-loading-spinner-container-for-the-large-button-wrapper",
		"package":                    "scikit sk-learn-contrib-py-earth-and-some-more-words-behind-it",
		"placeholder":                "ghp_" + rep("x", 36) + " AKIAIOSFODNN7EXAMPLE sk-" + rep("X", 48) + " glpat-" + rep("0", 20),
		"zero key":                   "secret key " + rep("0", 63) + "1",
		"image":                      "![](data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==)",
		"jwt header alone":           "eyJhbGciOiJIUzI1NiJ9 and eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0",
		"environment variable names": "export AWS_SECRET_ACCESS_KEY=$(pass aws) GITHUB_TOKEN=${TOKEN} SECRET_KEY_FILE=/run/secrets/key",
		"nip-44 payload":             "AgAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAABedgcxyfmpph68LBjCWZsTI5lb0Cbg8dIPVYVe/WVj/l4Yd8HGgzC8awyBi9bn9ClRdtd2IPsmont0jN/cajVSQhahTOwuNNwoJtZIg35aSsUzeCq4tQfd8E+fLoKomdPxjs=",
		"bunker without secret":      "bunker://" + hex64 + "?relay=wss://relay.example",
		"time and words":             "12:AA 123456789:AA short; MTIz.abc.def",
		"base58 address":             "1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfNa KwDiBf89QgGbjEhKnhXJuH7LrciVrZi3qYjgd9M7rFU73sVHnoXX",
	} {
		if found := Find(text); len(found) > 0 {
			t.Errorf("%s: %v: %q", name, found, text[found[0].Start:found[0].End])
		}
	}
}

func TestErrorsHoldNoValue(t *testing.T) {
	text := "one\ntwo nsec1" + bech58 + "\nghp_" + alnum36
	err := Check(text)
	var found *Error
	if !errors.As(err, &found) || found.Kind != "Nostr secret key" || found.Line != 2 || found.More != 1 {
		t.Fatalf("%#v", err)
	}
	if got, want := err.Error(), "line 2 holds what looks like a secret (Nostr secret key), and there are 1 more"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if err := Check("nothing"); err != nil {
		t.Error(err)
	}
}

func TestCheckChange(t *testing.T) {
	old := "a\nghp_" + alnum36 + "\n"
	if err := CheckChange(old, "b\n"+old+"c"); err != nil {
		t.Errorf("what was there already: %v", err)
	}
	if err := CheckChange(old, old+"npm_"+alnum36); err == nil || !strings.Contains(err.Error(), "line 3") {
		t.Errorf("what is new: %v", err)
	}
	if err := CheckChange("secret key:\n", "secret key:\n"+hex64); err == nil {
		t.Error("what is a key by the words that were there")
	}
}

func TestRedact(t *testing.T) {
	text := "a nsec1" + bech58 + " b\nsk: " + hex64 + "\n-----BEGIN PRIVATE KEY-----\n" + alnum48 + "\nis cut"
	got, n := Redact(text)
	if want := "a [redacted: Nostr secret key] b\nsk: [redacted: secret key in hex]\n[redacted: private key block]"; n != 3 || !strings.HasPrefix(got, want) {
		t.Errorf("%d: %q", n, got)
	}
	if got, n := Redact("nothing"); n != 0 || got != "nothing" {
		t.Errorf("%d: %q", n, got)
	}
	if again, n := Redact(got); n != 0 || again != got {
		t.Errorf("redacted twice: %d: %q", n, again)
	}
}

// TestShapes: the table is sorted as the scanner needs it, and every entry can
// be found.
func TestShapes(t *testing.T) {
	shapes := shapes()
	for i, sh := range shapes {
		if i > 0 {
			p := shapes[i-1]
			if p.prefix[0] > sh.prefix[0] || p.prefix[0] == sh.prefix[0] && len(p.prefix) < len(sh.prefix) {
				t.Errorf("%q stands behind %q", sh.prefix, p.prefix)
			}
		}
		body := ""
		for c, n := 0, max(sh.min, 1); len(body) < n; c++ {
			if b := byte('0' + (c*c*7+c*11)%75); sh.body.has(b) && (alnum.has(b)) {
				body += string(b)
			}
		}
		text := "= " + sh.prefix + body + " ="
		if found := Find(text); len(found) != 1 || found[0].Kind != sh.kind && !strings.HasPrefix(sh.prefix, "sk-") {
			t.Errorf("%s with %q: %v", sh.prefix, body, found)
		}
	}
}

// TestGuard: what was there already passes, a new secret is explained, and who
// allows secrets checks nothing.
func TestGuard(t *testing.T) {
	token := "ghp_" + alnum36
	if Check(token) == nil {
		t.Fatal("the token is none")
	}
	explained := errors.New("explained")
	explain := func(err error) error { return errors.Join(explained, err) }
	for _, explain := range []func(error) error{nil, explain} {
		if Guard(true, explain) != nil {
			t.Error("allowed, and still checked")
		}
		check := Guard(false, explain)
		if err := check(token, token+" and more"); err != nil {
			t.Errorf("what was there: %v", err)
		}
		found := new(Error)
		if err := check("", token); !errors.As(err, &found) || errors.Is(err, explained) != (explain != nil) {
			t.Errorf("a new secret: %v", err)
		}
	}
}
