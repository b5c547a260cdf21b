package redact

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"strings"
)

// tagBytes is how much of the digest a tag has: enough to tell the clients of
// one relay apart, too little to be taken for a key.
const tagBytes = 4

// Tags gives keys short names for one run of the daemon: the same key has the
// same tag until it ends, and nobody who reads the log can try keys out,
// because the salt is never written anywhere. The zero Tags names nothing.
type Tags struct{ salt []byte }

// NewTags makes a salt.
func NewTags() *Tags {
	salt := make([]byte, sha256.Size)
	_, _ = rand.Read(salt) // never fails
	return &Tags{salt}
}

// Of returns the tag of a key, 8 hex digits; "" for no key, or without a salt.
func (t *Tags) Of(key string) string {
	if t == nil || t.salt == nil || key == "" {
		return ""
	}
	mac := hmac.New(sha256.New, t.salt)
	mac.Write([]byte(key))
	return hex.EncodeToString(mac.Sum(nil)[:tagBytes])
}

// maxListed is how many tags List writes.
const maxListed = 4

// List returns the tags of several keys, as a log line has them: "nobody" for
// none.
func (t *Tags) List(keys []string) string {
	if len(keys) == 0 {
		return "nobody"
	}
	tags := make([]string, 0, maxListed+1)
	for i, key := range keys {
		if i == maxListed {
			tags = append(tags, "…")
			break
		}
		tags = append(tags, t.Of(key))
	}
	return strings.Join(tags, ",")
}
