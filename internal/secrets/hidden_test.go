package secrets

import (
	encoding "encoding/base64"
	"strings"
	"testing"
)

// A published test key (NIP-19), in the forms in which keys get into texts.
const (
	testHex  = "67dea2ed018072d675f5415ecfaed7d2597555e202d85b3d65ea4e58d2d92ffa"
	testData = "vl029mgpspedva04g90vltkh6fvh240zqtv9k0t9af8935ke9laqsnlfe5"
)

func testKey() string { return "nsec1" + testData }

// split puts a sign between the pieces of a text.
func split(text, sign string, every int) string {
	var b strings.Builder
	for i := 0; i < len(text); i += every {
		if i > 0 {
			b.WriteString(sign)
		}
		b.WriteString(text[i:min(len(text), i+every)])
	}
	return b.String()
}

func encoded(text string) string { return encoding.StdEncoding.EncodeToString([]byte(text)) }

// A phrase of the test vectors of BIP-39, and one whose sum does not hold.
const (
	phrase12 = "scheme spot photo card baby mountain device kick cradle pact join borrow"
	phrase24 = "hamster diagram private dutch cause delay private meat slide toddler razor book happy fancy gospel tennis maple dilemma loan word shrug inflict delay length"
	notQuite = "legal winner thank year wave sausage worth useful legal winner thank year"
)

// What the review of the guard got past it, and more of each kind.
func TestFindsWhatIsHidden(t *testing.T) {
	token := "engramd_agent_" + "mW5S" + alnum36 + "x-_"
	for _, tc := range []struct{ kind, value string }{
		{"engramd bearer token", strings.TrimRight(token, "-_")},
		{"Nostr secret key", split(testKey(), " ", 32)},
		{"Nostr secret key", split(testKey(), "\n", 20)},
		{"Nostr secret key", split(testKey(), "\r\n\t", 40)},
		{"Nostr secret key", split(testKey(), "\u200b", 7)},
		{"Nostr secret key", split(testKey(), "\u00ad", 1)},
		{"Nostr secret key", strings.ToUpper(split(testKey(), " ", 8))},
		{"Nostr secret key in base64", encoded(testKey())},
		{"Nostr secret key in base64", strings.TrimRight(encoded("key: "+testKey()), "=")},
		{"GitHub token in base64", encoded("x:ghp_" + alnum36)},
		{"seed phrase", phrase12},
		{"seed phrase", phrase24},
		{"seed phrase", strings.ReplaceAll(phrase12, " ", "\n")},
		{"seed phrase", strings.ToUpper(strings.ReplaceAll(phrase12, " ", ", "))},
	} {
		for _, around := range [][2]string{{"", ""}, {"it says: ", ".\nmore"}, {`{"k":"`, `"}`}, {"(", ")"}} {
			text := around[0] + tc.value + around[1]
			found := Find(text)
			if len(found) != 1 || found[0].Kind != tc.kind || text[found[0].Start:found[0].End] != tc.value {
				t.Errorf("%s %q in %q: %v", tc.kind, tc.value, around, found)
			}
		}
	}
	for text, value := range map[string]string{
		"secret key " + split(testHex, ":", 2):                           split(testHex, ":", 2),
		"private key: " + strings.ToUpper(split(testHex, "-", 4)):        strings.ToUpper(split(testHex, "-", 4)),
		"sk = " + split(testHex, " ", 16) + " (keep it)":                 split(testHex, " ", 16),
		"wallet seed phrase: " + notQuite:                                notQuite,
		"my mnemonic:\n1. " + strings.ReplaceAll(notQuite, " ", "\n2. "): strings.ReplaceAll(notQuite, " ", "\n2. "),
		"postgres://admin:pass@host/db":                                  "pass",
		"DATABASE_URL=postgresql://app:s3cr%40t@db.internal:5432":        "s3cr%40t",
		"amqps://u:p4ss,w@mq/vhost and more":                             "p4ss,w",
		"redis://:h0rse@10.0.0.1":                                        "h0rse",
		"the password is hunter2.":                                       "hunter2",
		"Password: Tr0ub4dor&3":                                          "Tr0ub4dor&3",
		"password for the staging db is q9!xkcd":                         "q9!xkcd",
		"DB_PASSWORD=correct-horse-7":                                    "correct-horse-7",
		`{"password": "swordfish"}`:                                      "swordfish",
		"its passphrase was 'opensesame'":                                "opensesame",
		"the pwd is 48151623":                                            "48151623",
		"passwd => Geh!eim!":                                             "Geh!eim",
	} {
		found := Find(text)
		if len(found) != 1 || text[found[0].Start:found[0].End] != value {
			got := ""
			if len(found) > 0 {
				got = text[found[0].Start:found[0].End]
			}
			t.Errorf("%q: %v %q", text, found, got)
		}
	}
}

// TestPassesWhatOnlyLooksHidden: what agents write all day.
func TestPassesWhatOnlyLooksHidden(t *testing.T) {
	for name, text := range map[string]string{
		"fingerprint":             "SHA256 Fingerprint=" + strings.ToUpper(split(testHex, ":", 2)),
		"grouped hash":            "the file's sha256 is " + split(testHex, " ", 8),
		"grouped hex, unsaid":     split(testHex, ":", 2),
		"MAC addresses":           "secret lair: 3b:f0:c6:3f:cb:93",
		"split npub":              "npub1" + split(testData, " ", 20),
		"nsec without its sum":    "nsec1" + split(testData[:57]+"q", " ", 20),
		"the word nsec":           "nsec1 is how secret keys begin, n sec 1 is nothing",
		"base64 of words":         encoded("this is nothing but a longer sentence in plain text"),
		"base64 of bytes":         encoded("\x00\x01\x02\xff" + testKey()),
		"words of the list":       "we should visit the museum garden this summer because the weather seems perfect and the ticket price is half",
		"eleven words":            "wallet seed phrase: " + strings.Join(strings.Fields(phrase12)[:11], " "),
		"twelve without sum":      notQuite,
		"address without":         "postgres://host/db, https://user@host, git@github.com:x/y.git, http://[::1]:8080/@a",
		"address with a stand-in": "postgres://user:password@host mysql://u:$PASS@h http://u:<pass>@h redis://:***@h",
		"time and mail":           "https://x.example/a:b@c and mailto:a@b.example",
		"prose about passwords": "The password is required. The password is stored hashed. Password: see the vault. The password was changed yesterday. A password is not enough; " +
			"passwords are hashed with argon2id. password is base64-encoded. password: string. Passphrase: none. The password is in 1Password.",
		"code about passwords": "password := os.Getenv(\"DB_PASS1\"); password = config.Get(\"pw2\"); if password == nil {}; password=${PASS1}; --password-file=/run/p1; password: {{ .Values.pw1 }}; " +
			"password: process.env.PW1; password = input(); def password(self, x=1): pass",
		"password rules":  "password: at least 12 characters; password is 8 or more letters; the password field is #password-1",
		"stands for one":  `{"password": "<password>"} password: "your-password1" password: ******** password=changeme123 PASSWORD=xxxxxxx1`,
		"pwd the command": "pwd is /home/agent1/work; $PWD=/srv/x1",
		"versions":        "password-store 1.7.4; passwd-2.0; pwd: v1.22.333",
		"an id after it":  "password reset event " + testHex,
	} {
		for _, f := range Find(text) {
			t.Errorf("%s: %v %q", name, f, text[f.Start:f.End])
		}
	}
}

// TestPlainText measures what is found in text that was written for it: 60
// notes as agents keep them.
func TestPlainText(t *testing.T) {
	for i, note := range strings.Split(strings.TrimSpace(plainNotes), "\n") {
		for _, f := range Find(note) {
			t.Errorf("note %d: %s in %q", i+1, f.Kind, note)
		}
	}
}
