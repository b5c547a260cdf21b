package web_test

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math/big"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/nbd-wtf/go-nostr/nip19"

	"engramd/internal/secrets"
)

// secretCase is a text in base64, so that no scanner of repositories takes it for a
// leak, and what is found in it: kind, and from which byte to which.
type secretCase struct {
	Text  string   `json:"text"`
	Found [][3]any `json:"found"`
}

func secretCaseOf(text string) secretCase {
	c := secretCase{Text: base64.StdEncoding.EncodeToString([]byte(text)), Found: [][3]any{}}
	for _, f := range secrets.Find(text) {
		c.Found = append(c.Found, [3]any{f.Kind, f.Start, f.End})
	}
	return c
}

const (
	letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
	digits  = "0123456789"
)

var charsets = map[string]string{"digit": digits, "hex": digits + "abcdef", "upper": digits + letters[26:], "bech": "qpzry9x8gf2tvdw0s3jn54khce6mua7l", "alnum": digits + letters,
	"word": digits + letters + "_-", "dotted": digits + letters + "_-.=~", "base64": digits + letters + "+/=", "url": digits + letters + "-._~:/?#[]@!$&()*+,;=%"}

func drawn(r *rand.Rand, set string, n int) string {
	var b strings.Builder
	for range n {
		b.WriteByte(charsets[set][r.IntN(len(charsets[set]))])
	}
	return b.String()
}

// TestGoldenTableOfSecrets writes and checks web-secrets.json.
func TestGoldenTableOfSecrets(t *testing.T) {
	r := seeded(5)
	values := append(shaped(t, r), special(t, r)...)
	var texts []string
	before := []string{"", "token: ", "a", "\\n", "key=", "(", "secret key ", "-", "é", "id ", "\n"}
	after := []string{"", ".", " and more", "a", "-_", "0", "é", "\n", "...", "\"", " (secret)"}
	for _, v := range values {
		texts = append(texts, v, pick(r, before)+v+pick(r, after))
		if at := r.IntN(len(v)); r.IntN(2) == 0 {
			texts = append(texts, v[:at]+pick(r, []string{"", " ", "x", "\n", "=", ":", "\u200b", "example", "\x00", "😀"})+v[at:])
		}
	}
	for range 60 {
		texts = append(texts, pick(r, values)+pick(r, after)+pick(r, values)+pick(r, before)+pick(r, values))
	}
	texts = append(texts, writtenSecrets...)
	for range 40 {
		texts = append(texts, tagged(r))
	}
	var cases []any
	found, kinds := 0, map[string]bool{}
	for _, text := range texts {
		c := secretCaseOf(text)
		if len(c.Found) > 0 {
			found++
		}
		for _, f := range c.Found {
			kinds[f[0].(string)] = true
		}
		cases = append(cases, c)
	}
	for _, kind := range []string{"private key block", "secret key in hex", "JSON web token", "Telegram bot token", "Discord bot token", "Azure client secret", "Bitcoin secret key", "NATS seed", "AWS secret key", "remote signer URI",
		"Nostr secret key", "password in an address", "password", "seed phrase", "GitHub token in base64", "AWS access key", "engramd bearer token", secrets.Tags} {
		if !kinds[kind] {
			t.Errorf("no case has a %s", kind)
		}
	}
	if found < 200 || len(texts)-found < 100 {
		t.Errorf("%d of %d texts have secrets", found, len(texts))
	}
	(&table{name: "web-secrets.json", about: "Texts (base64) and what internal/secrets finds in them: kind, first byte, byte behind it. The values are made up.", sections: []section{{"cases", cases}}}).hold(t, 500)
}

// shaped are values of each shape, at the ends of the lengths that it may have.
func shaped(t *testing.T, r *rand.Rand) (all []string) {
	raw, err := os.ReadFile("../secrets/shapes.json")
	if err != nil {
		t.Fatal(err)
	}
	var rows [][6]any
	if err := json.Unmarshal(raw, &rows); err != nil {
		t.Fatal(err)
	}
	for _, row := range rows {
		least, most := int(row[3].(float64)), int(row[4].(float64))
		all = append(all, row[0].(string)+drawn(r, row[2].(string), least))
		if size := max(most, least+r.IntN(3)) + r.IntN(2); r.IntN(3) == 0 {
			all = append(all, row[0].(string)+drawn(r, row[2].(string), size))
		}
		if r.IntN(4) == 0 {
			all = append(all, row[0].(string)+drawn(r, row[2].(string), least-1), row[0].(string)+strings.Repeat("x", least))
		}
	}
	return all
}

// special are values that no shape tells.
func special(t *testing.T, r *rand.Rand) (all []string) {
	for range 6 {
		hex64, hex128 := drawn(r, "hex", 64), drawn(r, "hex", 128)
		word := pick(r, []string{"secret", "nsec", "privateKey", "api key", "pubkey", "event", "id", "seed for", "SECRET_KEY", "the public key", "key", "nothing", "aes key", "sk", "note"})
		all = append(all, word+": "+hex64, word+"=0x"+hex64, word+"\n"+hex64, hex64+" ("+word+")", hex64+" = "+word, hex128+"\n"+word, word+" "+hex128, hex64+" — "+word, word+" id "+hex64,
			word+" "+grouped(hex64, pick(r, []int{2, 4, 8, 16, 32}), pick(r, []string{":", " ", "-", "_", ".", ",", ", ", ":\n  ", " : ", "\r\n"})))
		all = append(all, "eyJ"+drawn(r, "word", 10+r.IntN(20))+".eyJ"+drawn(r, "word", 8+r.IntN(20))+"."+drawn(r, "word", 15+r.IntN(20)))
		all = append(all, drawn(r, "digit", 7+r.IntN(4))+":AA"+drawn(r, "word", 32+r.IntN(3)), "M"+drawn(r, "alnum", 22+r.IntN(6))+"."+drawn(r, "word", 6)+"."+drawn(r, "word", 26+r.IntN(4)))
		all = append(all, drawn(r, "alnum", 3)+drawn(r, "digit", 1)+"Q~"+drawn(r, "dotted", 30+r.IntN(6)), "S"+pick(r, []string{"U", "A", "X", "Z"})+strings.NewReplacer("0", "2", "1", "3", "8", "4", "9", "5").Replace(drawn(r, "upper", 56)))
		all = append(all, pick(r, []string{"aws_secret_access_key = ", "AWS secret: ", "other = "})+drawn(r, "base64", 40), "bunker://"+hex64+"?relay=wss%3A%2F%2Fr.example&secret="+drawn(r, "alnum", 4+r.IntN(9)), wif(r, 37), wif(r, 38))
		nsec, err := nip19.EncodePrivateKey(drawn(r, "hex", 64))
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, nsec, strings.ToUpper(nsec), broken(r, nsec, " "), broken(r, nsec, "\u200b"), broken(r, nsec, "\r\n"), broken(r, nsec, "\u00ad"), broken(r, nsec, "-"), backwards(nsec), strings.ToUpper(backwards(nsec)), backwards(nsec[1:]), grouped(nsec, 1+r.IntN(9), pick(r, []string{".", "-", ", ", " | ", "/*"})))
		password := pick(r, []string{drawn(r, "alnum", 4+r.IntN(12)), drawn(r, "url", 10), "hunter2!", "correct horse", "${PASSWORD}", "sha256", "12345678", "p%20w", "geheimß7", "changeme1", "a.b.c1", "(x)123456", "…abc12"})
		all = append(all, pick(r, []string{"https", "postgres", "x+y-z.1", "a b", strings.Repeat("s", 25)})+"://user:"+password+"@host/db", pick(r, []string{"password", "Passwort", "PASSWORD", "pwd", "passphrase", "Passcode", "passworded"})+
			pick(r, []string{": ", " is ", "=", " was ", " for the door: ", " => ", "\n", " of \u00e9: ", ":"})+pick(r, []string{password, "\"" + password + "\"", "'" + password + "'", "`" + password, password + "."}))
		words := mnemonic(t, r)
		all = append(all, strings.Join(words, " "), strings.Join(words[1:], " ")+" zoo", "seed: "+strings.Join(append(words[1:], words[0]), ", "), numbered(words), strings.ToUpper(strings.Join(words, "\n")))
		all = append(all, around(r, words), around(r, words), around(r, append(words[1:], words[0])), numbered(slices.Concat(words[3:], words[:3])), strings.Join(words, pick(r, []string{", ", "\n\n", "\" \"", " 1 ", " 007 ", ": ", ". ", "|", " 2026-01-01 "})))
		token := "ghp_" + drawn(r, "alnum", 36)
		all = append(all, base64.StdEncoding.EncodeToString([]byte(token)), base64.RawURLEncoding.EncodeToString([]byte("token="+token+"\n")), base64.StdEncoding.EncodeToString([]byte("\x00"+token)))
		kind := pick(r, []string{"RSA PRIVATE KEY", "PRIVATE KEY", "PGP PRIVATE KEY BLOCK", "OPENSSH PRIVATE KEY", "PUBLIC KEY", "CERTIFICATE"})
		lines := drawn(r, "base64", 64) + "\n" + drawn(r, "base64", 64) + "\n" + drawn(r, "base64", 20) + "\n"
		all = append(all, "-----BEGIN "+kind+"-----\n"+lines+"-----END "+kind+"-----\n", "-----BEGIN "+kind+"-----\n"+lines, "-----BEGIN "+kind+"-----\nVersion: 1\nComment: x y\n\n"+lines+"text", "-----BEGIN "+kind+"-----\\n"+strings.ReplaceAll(lines, "\n", "\\n")+"-----END "+kind+"-----",
			"-----BEGIN "+kind+"-----\n...\n-----END "+kind+"-----")
	}
	return all
}

func grouped(hex string, size int, sign string) string {
	var parts []string
	for part := range slices.Chunk([]byte(hex), size) {
		parts = append(parts, string(part))
	}
	return strings.Join(parts, sign)
}

// broken puts something between characters.
func broken(r *rand.Rand, value, with string) string {
	for range 1 + r.IntN(4) {
		at := 1 + r.IntN(len(value)-1)
		for at < len(value) && value[at]&0xc0 == 0x80 {
			at++
		}
		value = value[:at] + with + value[at:]
	}
	return value
}

// wif is a key in wallet import format of so many bytes.
func wif(r *rand.Rand, size int) string {
	raw := make([]byte, size-4)
	for i := range raw {
		raw[i] = byte(r.Uint32())
	}
	if raw[0] = 0x80; size == 38 {
		raw[33] = 1
	}
	once := sha256.Sum256(raw)
	twice := sha256.Sum256(once[:])
	n := new(big.Int).SetBytes(append(raw, twice[:4]...))
	var out []byte
	for zero, base, digit := new(big.Int), big.NewInt(58), new(big.Int); n.Cmp(zero) > 0; {
		n.DivMod(n, base, digit)
		out = append(out, "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"[digit.Int64()])
	}
	slices.Reverse(out)
	return string(out)
}

// mnemonic is a phrase of 12 to 24 words whose checksum holds.
func mnemonic(t *testing.T, r *rand.Rand) (words []string) {
	var list []string
	raw, err := os.ReadFile("../secrets/bip39.json")
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(raw, &list); err != nil {
		t.Fatal(err)
	}
	entropy := make([]byte, 16+4*r.IntN(5))
	for i := range entropy {
		entropy[i] = byte(r.Uint32())
	}
	sum := sha256.Sum256(entropy)
	bits := ""
	for _, b := range entropy {
		bits += fmt.Sprintf("%08b", b)
	}
	bits += fmt.Sprintf("%08b", sum[0])[:len(entropy)/4]
	for chunk := range slices.Chunk([]byte(bits), 11) {
		n := 0
		for _, c := range chunk {
			n = 2*n + int(c-'0')
		}
		words = append(words, list[n])
	}
	return words
}

// around puts words of the list, some of which say what a phrase is, before and behind one.
func around(r *rand.Rand, words []string) string {
	some := func() (all []string) {
		for range r.IntN(4) {
			all = append(all, pick(r, []string{"abandon", "wallet", "seed", "phrase", "zoo", "the seed of", "mnemonic:", "zoo 3"}))
		}
		return all
	}
	return strings.Join(slices.Concat(some(), words, some()), " ")
}

// tagged is a text with tag characters, some of which are those of a flag.
func tagged(r *rand.Rand) string {
	var b strings.Builder
	for range 1 + r.IntN(4) {
		b.WriteString(pick(r, []string{"", "a", "🏴", "🏴", "\U000e0100", "\U000e0080", "\xf3"}))
		for range r.IntN(8) {
			b.WriteRune(0xe0000 + rune(pick(r, []string{"g", "b", "z", "0", "9"})[0]))
		}
		b.WriteString(pick(r, []string{"", "\U000e007f", "\U000e0041", "\U000e0000", "\U000e007f\U000e007f", " "}))
	}
	return b.String()
}

func backwards(text string) string {
	raw := []byte(text)
	slices.Reverse(raw)
	return string(raw)
}

func numbered(words []string) string {
	var b strings.Builder
	for i, w := range words {
		fmt.Fprintf(&b, "%d. %s\n", i+1, w)
	}
	return b.String()
}

var writtenSecrets = []string{"password: contraseña1", "password: Пароль1", "password: ПАРОЛЬ1", "PASSWORD: MOT DE PASSE 1", "", "a plain text of no secrets", "sk-this-is-a-slug-with-many-words-in-it-and-no-key", "\ufeffpassword: hunter2x\ufeff", "my npub1" + strings.Repeat("q", 58), strings.Repeat("-----BEGIN RSA PRIVATE KEY-----\n", 3),
	"the password is a word", "password: \"wo rd\"", "eyJ.eyJ.", "nsec1", "nsec1" + strings.Repeat("q", 58), strings.Repeat("abandon ", 11) + "about", "seed " + strings.Repeat("abandon ", 12), "commit " + strings.Repeat("0123456789abcdef", 4),
	"secret " + strings.Repeat("0123456789abcdef", 4), "😀 secret " + strings.Repeat("0123456789abcdef", 4) + " 😀", "passwd=" + strings.Repeat("é1", 90),
	"the secret note about it: " + hexDigits, "the secret note " + hexDigits, "secret of event: " + hexDigits, "secret of the event that was: " + hexDigits}

const hexDigits = "3bf0c63fcb93463407af97a5e5ee64fa" + "883d107ef9e558472c4eb9aaefa459d1"
