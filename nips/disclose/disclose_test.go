package disclose

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/nbd-wtf/go-nostr"
	"github.com/nbd-wtf/go-nostr/nip44"
	"golang.org/x/crypto/chacha20"

	"engramd/nips/nipae"
)

// vectors are NIP-44's own: conversation key, text, payload.
var vectors = [][3]string{
	{"c41c775356fd92eadc63ff5a0dc1da211b268cbea22316767095b2871ea1412d", "a",
		"AgAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAABee0G5VSK0/9YypIObAtDKfYEAjD35uVkHyB0F4DwrcNaCXlCWZKaArsGrY6M9wnuTMxWfp1RTN9Xga8no+kF5Vsb"},
	{"c41c775356fd92eadc63ff5a0dc1da211b268cbea22316767095b2871ea1412d", "🍕🫃",
		"AvAAAAAAAAAAAAAAAAAAAPAAAAAAAAAAAAAAAAAAAAAPSKSK6is9ngkX2+cSq85Th16oRTISAOfhStnixqZziKMDvB0QQzgFZdjLTPicCJaV8nDITO+QfaQ61+KbWQIOO2Yj"},
	{"3e2b52a63be47d34fe0a80e34e73d436d6963bc8f39827f327057a9986c20a45", "表ポあA鷗ŒéＢ逍Üßªąñ丂㐀𠀀",
		"ArY1I2xC2yDwIbuNHN/1ynXdGgzHLqdCrXUPMwELJPc7s7JqlCMJBAIIjfkpHReBPXeoMCyuClwgbT419jUWU1PwaNl4FEQYKCDKVJz+97Mp3K+Q2YGa77B6gpxB/lr1QgoqpDf7wDVrDmOqGoiPjWDqy8KzLueKDcm9BVP8xeTJIxs="},
}

func conversation(t testing.TB, text string) (key [32]byte) {
	t.Helper()
	if _, err := hex.Decode(key[:], []byte(text)); err != nil {
		t.Fatal(err)
	}
	return key
}

func TestOpensTheVectorsOfNIP44(t *testing.T) {
	for _, v := range vectors {
		k, err := KeysOf(conversation(t, v[0]), v[2])
		if err != nil {
			t.Fatal(err)
		}
		handed, err := ParseKeys(k.Hex())
		if err != nil || handed != k {
			t.Fatal(err)
		}
		if text, err := Open(v[2], handed); err != nil || text != v[1] {
			t.Errorf("%q, %v; want %q", text, err, v[1])
		}
	}
}

func TestOpensWhatIsEncryptedOfEverySize(t *testing.T) {
	key := conversation(t, vectors[0][0])
	for _, n := range []int{1, 31, 32, 33, 256, 257, 1000, 65535} {
		want := strings.Repeat("x", n)
		payload, err := nip44.Encrypt(want, key)
		if err != nil {
			t.Fatal(err)
		}
		k, err := KeysOf(key, payload)
		if err != nil {
			t.Fatal(err)
		}
		if text, err := Open(payload, k); err != nil || text != want {
			t.Errorf("%d bytes: %v", n, err)
		}
	}
}

// forge makes a payload whose MAC is right under k, of any padded plaintext.
func forge(k Keys, padded []byte) string {
	stream, err := chacha20.NewUnauthenticatedCipher(k[:32], k[32:44])
	if err != nil {
		panic(err)
	}
	sealed := make([]byte, len(padded))
	stream.XORKeyStream(sealed, padded)
	nonce := make([]byte, 32)
	mac := hmac.New(sha256.New, k[44:])
	mac.Write(nonce)
	mac.Write(sealed)
	raw := append([]byte{2}, nonce...)
	return base64.StdEncoding.EncodeToString(mac.Sum(append(raw, sealed...)))
}

func TestRefusesWhatProvesNothing(t *testing.T) {
	key, payload := conversation(t, vectors[1][0]), vectors[1][2]
	good, err := KeysOf(key, payload)
	if err != nil {
		t.Fatal(err)
	}
	other, err := KeysOf(key, vectors[0][2])
	if err != nil {
		t.Fatal(err)
	}
	cipher, mac := good, good
	cipher[0] ^= 1
	mac[75] ^= 1
	padded := func(size int, text string, pad ...byte) []byte {
		p := append([]byte{byte(size >> 8), byte(size)}, text...)
		return append(p, pad...)
	}
	zeros := make([]byte, 32)
	for name, tt := range map[string]struct {
		payload string
		keys    Keys
		want    error
	}{
		"keys of another payload":       {payload, other, ErrMAC},
		"another key of the MAC":        {payload, mac, ErrMAC},
		"another key of the cipher":     {payload, cipher, ErrPadding},
		"no payload":                    {"hello", good, ErrPayload},
		"empty":                         {"", good, ErrPayload},
		"the size of another padding":   {forge(good, padded(33, "x", zeros[:31]...)), good, ErrPadding},
		"a size of none":                {forge(good, padded(0, "", zeros...)), good, ErrPadding},
		"padding that is not zero":      {forge(good, padded(1, "x", append(zeros[:30:30], 1)...)), good, ErrPadding},
		"bytes that are no text":        {forge(good, padded(2, "\xff\xfe", zeros[:30]...)), good, ErrText},
		"a size beyond what was padded": {forge(good, padded(65535, "x", zeros[:31]...)), good, ErrPadding},
	} {
		t.Run(name, func(t *testing.T) {
			if text, err := Open(tt.payload, tt.keys); !errors.Is(err, tt.want) || text != "" {
				t.Errorf("%q, %v; want %v", text, err, tt.want)
			}
		})
	}
	if text, err := Open(forge(good, padded(2, "ok", zeros[:30]...)), good); err != nil || text != "ok" {
		t.Errorf("what is right: %q, %v", text, err)
	}
}

func TestKeysAreOneText(t *testing.T) {
	var k Keys
	k[0], k[75] = 0xab, 0xcd
	for _, bad := range []string{"", k.Hex()[2:], k.Hex() + "00", strings.ToUpper(k.Hex()), " " + k.Hex()[1:], strings.Repeat("g", 2*Size)} {
		if _, err := ParseKeys(bad); !errors.Is(err, ErrKeys) {
			t.Errorf("%q: %v", bad, err)
		}
	}
	for _, shown := range []string{fmt.Sprint(k), fmt.Sprintf("%v %+v %#v", k, k, k)} {
		if strings.Contains(shown, "ab") || strings.Contains(shown, "171") {
			t.Errorf("the keys show: %s", shown)
		}
	}
	if _, err := KeysOf([32]byte{}, "x"); !errors.Is(err, ErrPayload) {
		t.Error(err)
	}
}

func FuzzOpen(f *testing.F) {
	for _, v := range vectors {
		k, err := KeysOf(conversation(f, v[0]), v[2])
		if err != nil {
			f.Fatal(err)
		}
		f.Add(v[2], k.Hex())
	}
	f.Add("", "")
	f.Fuzz(func(t *testing.T, payload, keys string) {
		k, err := ParseKeys(keys)
		if err != nil {
			return
		}
		text, err := Open(payload, k)
		if (err == nil) == (text == "") {
			t.Fatalf("%q, %v", text, err)
		}
	})
}

// twoSentences is one signed payload that two sets of keys open.
func twoSentences(t *testing.T) (ev nostr.Event, keys [2]Keys, texts [2]string) {
	t.Helper()
	var vector struct {
		Event    nostr.Event                    `json:"event"`
		Openings [2]struct{ Keys, Text string } `json:"openings"`
	}
	b, err := os.ReadFile("../../testdata/vectors/two-sentences.json")
	if err == nil {
		err = json.Unmarshal(b, &vector)
	}
	for i, o := range vector.Openings {
		if err == nil {
			keys[i], err = ParseKeys(o.Keys)
			texts[i] = o.Text
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	return vector.Event, keys, texts
}

// TestCommitVector is the vector for other implementations.
func TestCommitVector(t *testing.T) {
	var v struct {
		Conversation string    `json:"conversation_key"`
		Keys         string    `json:"message_keys"`
		Payload      string    `json:"payload"`
		Text         string    `json:"text"`
		Tag          nostr.Tag `json:"tag"`
	}
	b, err := os.ReadFile("../../testdata/vectors/commit.json")
	if err == nil {
		err = json.Unmarshal(b, &v)
	}
	if err != nil {
		t.Fatal(err)
	}
	k, err := KeysOf(conversation(t, v.Conversation), v.Payload)
	if err != nil || k.Hex() != v.Keys {
		t.Errorf("message keys %s (%v), want %s", k.Hex(), err, v.Keys)
	}
	ev := nostr.Event{Content: v.Payload, Tags: nostr.Tags{v.Tag}}
	if text, committed, err := OpenEvent(&ev, k); err != nil || !committed || text != v.Text {
		t.Errorf("%q, %v, %v", text, committed, err)
	}
}

// TestTwoSentences: a payload alone does not bind its author to one text; a
// commitment does.
func TestTwoSentences(t *testing.T) {
	ev, keys, texts := twoSentences(t)
	for i, k := range keys {
		text, committed, err := OpenEvent(&ev, k)
		if err != nil || committed || text != texts[i] {
			t.Errorf("opening %d without a commitment: %q, %v, %v", i, text, committed, err)
		}
	}
	ev.Tags = append(ev.Tags, nipae.Commitment(keys[0]))
	if text, committed, err := OpenEvent(&ev, keys[0]); err != nil || !committed || text != texts[0] {
		t.Errorf("the opening that is committed to: %q, %v, %v", text, committed, err)
	}
	if text, committed, err := OpenEvent(&ev, keys[1]); !errors.Is(err, ErrCommitment) || committed || text != "" {
		t.Errorf("another opening: %q, %v, %v", text, committed, err)
	}
	for name, tag := range map[string]nostr.Tag{
		"a second one": nipae.Commitment(keys[0]), "one to other keys": nipae.Commitment(keys[1]), "one without a value": {nipae.CommitTag}, "one of capitals": {nipae.CommitTag, strings.ToUpper(nipae.Commitment(keys[0])[1])},
	} {
		more := ev
		more.Tags = append(slices.Clone(ev.Tags), tag)
		if _, _, err := OpenEvent(&more, keys[0]); !errors.Is(err, ErrCommitment) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func FuzzOpenEvent(f *testing.F) {
	f.Add("AhAQuA/9NrlvFMbOnL9ZfBXWza8abs6R4knX51UuE+BrxlC8+rHU5dESWK4DC8qK5+sStQt4CD5FCL2d4dF8uMuo+QhPB2qKmUbUzDr9uEvND+z1LJ1TBiNe8fQn/gjidU/n", "commit", strings.Repeat("0", 64), []byte{1})
	f.Add("", "commit", "", []byte{})
	f.Fuzz(func(t *testing.T, content, name, value string, raw []byte) {
		var k Keys
		copy(k[:], raw)
		ev := nostr.Event{Content: content, Tags: nostr.Tags{{}, {name}, {name, value}}}
		if _, committed, err := OpenEvent(&ev, k); committed && (err != nil || name != nipae.CommitTag) {
			t.Fatalf("committed by %q %q: %v", name, value, err)
		}
	})
}
