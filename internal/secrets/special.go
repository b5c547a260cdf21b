package secrets

import (
	"strings"

	"github.com/btcsuite/btcd/btcutil/base58"
)

// Values without a prefix that would be enough to tell them by.

// webToken finds a signed JSON web token: three parts, of which two are
// objects.
func (s *scanner) webToken(at int) (Finding, bool) {
	if !strings.HasPrefix(s.text[at:], "eyJ") {
		return Finding{}, false
	}
	head := s.run(word, at)
	if !strings.HasPrefix(s.text[head:], ".eyJ") {
		return Finding{}, false
	}
	claims := s.run(word, head+1)
	if !strings.HasPrefix(s.text[claims:], ".") {
		return Finding{}, false
	}
	end := s.run(word, claims+1)
	if head-at < 16 || claims-head < 12 || end-claims < 20 {
		return Finding{}, false
	}
	return Finding{Kind: "JSON web token", Start: at, End: end}, true
}

// botToken finds Telegram's (a number, a colon and 35 characters from AA) and
// Discord's (an id in base64, a time, and a code).
func (s *scanner) botToken(at int) (Finding, bool) {
	id := s.run(word, at)
	switch rest := s.text[id:]; {
	case id-at >= 8 && id-at <= 10 && s.run(digit, at) == id && strings.HasPrefix(rest, ":AA"):
		if end := s.run(word, id+1); end-id-1 == 35 && !placeholder(s.text[id+1:end]) {
			return Finding{Kind: "Telegram bot token", Start: at, End: end}, true
		}
	case id-at >= 23 && id-at <= 28 && strings.IndexByte("MNO", s.text[at]) >= 0 && strings.HasPrefix(rest, "."):
		stamp := s.run(word, id+1)
		if stamp-id-1 != 6 || !strings.HasPrefix(s.text[stamp:], ".") {
			break
		}
		if end := s.run(word, stamp+1); end-stamp-1 >= 27 && end-stamp-1 <= 40 && !placeholder(s.text[stamp+1:end]) {
			return Finding{Kind: "Discord bot token", Start: at, End: end}, true
		}
	}
	return Finding{}, false
}

// azureSecret finds a client secret of Entra: three characters, a digit, "Q~"
// and 31 to 34 more.
func (s *scanner) azureSecret(at int) (Finding, bool) {
	if len(s.text)-at < 37 || s.text[at+4:at+6] != "Q~" || !digit.has(s.text[at+3]) {
		return Finding{}, false
	}
	end := s.run(dotted, at)
	if size := end - at; size < 37 || size > 41 || placeholder(s.text[at+6:end]) {
		return Finding{}, false
	}
	return Finding{Kind: "Azure client secret", Start: at, End: end}, true
}

// walletKey finds a Bitcoin key in wallet import format, by its checksum.
func (s *scanner) walletKey(at int) (Finding, bool) {
	end := s.run(alnum, at)
	if size := end - at; size < 51 || size > 52 || strings.IndexByte("5KLc9", s.text[at]) < 0 {
		return Finding{}, false
	}
	size := 32 // of the key
	if end-at == 52 {
		size = 33 // and a mark
	}
	if key, _, err := base58.CheckDecode(s.text[at:end]); err != nil || len(key) != size {
		return Finding{}, false
	}
	return Finding{Kind: "Bitcoin secret key", Start: at, End: end}, true
}

// natsSeed finds an nkey seed of NATS: S, what it is for, and 56 digits of
// base32.
func (s *scanner) natsSeed(at int) (Finding, bool) {
	if s.text[at] != 'S' || len(s.text)-at < 58 || strings.IndexByte("AUONCX", s.text[at+1]) < 0 {
		return Finding{}, false
	}
	end := s.run(alnum, at)
	if end-at != 58 || s.run(upper, at) != end || strings.ContainsAny(s.text[at:end], "0189") || placeholder(s.text[at:end]) {
		return Finding{}, false
	}
	return Finding{Kind: "NATS seed", Start: at, End: end}, true
}

// awsSecret finds the 40 characters that belong to an access key of AWS, which
// only the name before them gives away.
func (s *scanner) awsSecret(at int) (Finding, bool) {
	end := s.run(base64, at)
	if end-at != 40 || at > 0 && base64.has(s.text[at-1]) && s.text[at-1] != '=' {
		return Finding{}, false
	}
	before := strings.ToLower(s.text[max(0, at-40):at])
	before = strings.NewReplacer("_", "", " ", "", "-", "").Replace(before)
	if !strings.Contains(before, "secretaccesskey") && !strings.Contains(before, "awssecret") || !solid(s.text[at:end]) && distinct(s.text[at:end]) < 16 ||
		placeholder(s.text[at:end]) {
		return Finding{}, false
	}
	return Finding{Kind: "AWS secret key", Start: at, End: end}, true
}

// bunker finds the secret in the URI of a remote signer (NIP-46).
func (s *scanner) bunker(at int) (Finding, bool) {
	if !strings.HasPrefix(s.text[at:], "bunker://") {
		return Finding{}, false
	}
	end := s.run(url, at)
	for range 4 { // punctuation behind it
		if strings.IndexByte(".,;)]", s.text[end-1]) >= 0 {
			end--
		}
	}
	_, secret, found := strings.Cut(s.text[at:min(end, at+bunkerLooked)], "secret=")
	if value, _, _ := strings.Cut(secret, "&"); !found || len(value) < 6 || placeholder(value) {
		return Finding{}, false
	}
	return Finding{Kind: "remote signer URI", Start: at, End: end}, true
}

// bunkerLooked is how much of such a URI is looked at.
const bunkerLooked = 1024
