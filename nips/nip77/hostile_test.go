package nip77

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"runtime"
	"strconv"
	"strings"
	"testing"
)

func unhex(t testing.TB, text string) []byte {
	t.Helper()
	b, err := hex.DecodeString(strings.ReplaceAll(text, " ", ""))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// numbered is a set whose messages were computed elsewhere: four items a second
// from 1000 on, whose ids are the SHA-256 of their number in decimal.
func numbered(t testing.TB, n int) *Set {
	var items []Item
	for i := range n {
		items = append(items, Item{CreatedAt: 1000 + int64(i/4), ID: sha256.Sum256([]byte(strconv.Itoa(i)))})
	}
	return set(t, items)
}

func TestVectors(t *testing.T) {
	for n, want := range map[int]string{
		0: "7f9c9e31ac8256ca2f258583df262dbc", 1: "f9cf9d0164b7a7f0ffb00a65c75f053a", 2: "71db9738080f9ed48a9329f559b0ce56",
		32: "fb67458b9a79d9de66ab89ba9bbd6705", 130: "8017c8169012c0aa7cfa3eef5bde8ca2",
	} {
		f := numbered(t, n).fingerprint(0, n)
		if got := hex.EncodeToString(f[:]); got != want {
			t.Errorf("%d items: %s, want %s", n, got, want)
		}
	}
	open := "618769016b01c654991812849bf29af194ff5b52c01f020001706853112d13ea613df12f077c5a87930101e70168b1bf6b9f842cfde41f1514c2b174a5" +
		"020001068531d5d2de6916955aa66345fdc39001014a01a657810e863ee2a9b914fb87ba6574dc0200013b57869ecff42f0aae60c2c370acbe84010185018aa314f7" +
		"900aa3a012d967ac11c430430200019218d4e82f77ff4096f649781e32af34010194016d39674870cce21986b6b2a91d9ed4890200011ee2f07bba424bf8af788215" +
		"bdc3a25801017801b71dbdd08a482abc126e335faca971be0200018ef05aa4fcc8bc45a536459bf82772700101b70180d17a2954ffa3009c19ee02cd47c81a020001" +
		"a57f13f5f8ad26a8cba9f839680ac411010162011b32db6c33a10ceebb4b7226d294390900000162a4e875a0e6a907a24b674b07ba757d"
	all := NewInitiator(numbered(t, 32), 30_000).Open()
	if got := hex.EncodeToString(all); got != open {
		t.Errorf("the opening is\n%s, want\n%s", got, open)
	}
	const zero, one = "5feceb66ffc86f38d952786c6d696c79c2dbc239dd4e91b46729d73a27fb57e9", "6b86b273ff34fce19d6b804eff5a3f5747ada4eaa22f1d49c01e52ddb7875b4b"
	for _, c := range []struct{ name, msg, want string }{
		{"nothing said", "61", "61"},
		{"everything skipped", "61 00 00 00", "61"},
		{"the same", "61 00 00 01 71db9738080f9ed48a9329f559b0ce56", "61"},
		{"the same up to an end, and no more said", "61 876a 00 01 71db9738080f9ed48a9329f559b0ce56", "61"},
		{"an empty list", "61 00 00 02 00", "61 00 00 02 02" + zero + one},
		{"a list up to the second id", "61 8769 01 6b 02 00", "61 8769 01 6b 02 01" + zero},
		{"a skip, then a list", "61 8769 01 6b 00 00 00 02 00", "61 8769 01 6b 00 00 00 02 01" + one},
		{"another fingerprint", "61 00 00 01 00000000000000000000000000000000", "61 00 00 02 02" + zero + one},
		{"an older version", "60 00 00 02 00", "61"},
		{"a later version", "6f", "61"},
		{"ranges after infinity", "61 00 00 00 00 00 02 00", "61 00 00 00 00 00 02 00"},
	} {
		got, err := numbered(t, 2).Reply(unhex(t, c.msg), MinLimit)
		if want := strings.ReplaceAll(c.want, " ", ""); err != nil || hex.EncodeToString(got) != want {
			t.Errorf("%s: %x, %v, want %s", c.name, got, err, want)
		}
	}
	if _, _, _, err := NewInitiator(numbered(t, 2), 0).Next([]byte{0x60}); !errors.Is(err, ErrVersion) {
		t.Errorf("an answer of another version: %v", err)
	}
	for msg, want := range map[string]string{"": "begin", "00": "begin", "71": "begin"} {
		if _, err := numbered(t, 2).Reply(unhex(t, msg), MinLimit); !errors.Is(err, ErrMessage) || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", msg, err)
		}
	}
	if _, err := numbered(t, 2).Reply([]byte{Version}, MinLimit-1); err == nil {
		t.Error("a limit that is too low is taken")
	}
}

// bads are messages that are refused, each for one reason.
var bads = []struct{ name, msg, want string }{
	{"a list longer than memory", "61 00 00 02 8fffffffff7f", "ids in 0 bytes"},
	{"a list of 2^63-1 ids", "61 00 00 02 ffffffffffffffff7f", "ids in 0 bytes"},
	{"a bound longer than memory", "61 01 ffffffffffffffff7f", "bytes of an id"},
	{"a bound of 33 bytes", "61 01 21" + strings.Repeat("00", 33) + "00", "33 bytes of an id"},
	{"a bound cut short", "61 01 20 00", "too early"},
	{"a number of ten bytes", "61 81818181818181818101 00 00", "more than 9 bytes"},
	{"a number that does not end", "61 8181", "inside a number"},
	{"a number with zeros before it", "61 8001 00 00", "begins with zeros"},
	{"no length of a bound", "61 01", "inside a number"},
	{"no mode", "61 01 00", "inside a number"},
	{"mode 3", "61 00 00 03", "mode 3"},
	{"half a fingerprint", "61 00 00 01 0011", "too early"},
	{"half an id", "61 00 00 02 01 0011", "1 ids in 2 bytes"},
	{"one id of two", "61 00 00 02 02" + strings.Repeat("00", 32), "2 ids in 32 bytes"},
	{"a list without its length", "61 00 00 02", "inside a number"},
	{"a bound that goes back", "61 05 01 80 00 01 01 7f 00", "ends before it begins"},
}

func TestBadMessagesAreRefused(t *testing.T) {
	s := numbered(t, 200)
	for _, c := range bads {
		msg := unhex(t, c.msg)
		if out, err := s.Reply(msg, MinLimit); out != nil || !errors.Is(err, ErrMessage) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %x, %v", c.name, out, err)
		}
		if out, have, need, err := NewInitiator(s, MinLimit).Next(msg); out != nil || have != nil || need != nil || !errors.Is(err, ErrMessage) {
			t.Errorf("%s, to who asks: %x, %v", c.name, out, err)
		}
	}
}

// emptyLists is a message of lists in which there is nothing, each of a range
// without items, with what stands between them.
func emptyLists(n int, between string) []byte {
	msg := []byte{Version}
	for range n {
		msg = append(append(msg, between...), 1, 0, modeIDs, 0)
	}
	return msg
}

// TestAnswersKeepTheirLimit: also of ranges in which there is nothing to list.
func TestAnswersKeepTheirLimit(t *testing.T) {
	s := numbered(t, 5000)
	for name, msg := range map[string][]byte{
		"empty lists": emptyLists(40_000, ""), "with skips between them": emptyLists(40_000, "\x01\x00\x00"),
		"and a list of all": append(emptyLists(1200, ""), 0, 0, modeIDs, 0),
	} {
		for limit := MinLimit; limit < MinLimit+idSize; limit++ {
			reply, err := s.Reply(msg, limit)
			if err != nil || len(reply) > limit || len(reply) < limit-spare-splitSize {
				t.Errorf("%s: %d bytes of %d, %v", name, len(reply), limit, err)
			}
			if _, _, _, err := NewInitiator(s, limit).Next(reply); err != nil {
				t.Errorf("%s: an answer that is none: %v", name, err)
			}
		}
	}
}

// TestWhatAMessageCosts: what is allocated for a message is in proportion to its
// own bytes and to the limit, whatever numbers are in it.
func TestWhatAMessageCosts(t *testing.T) {
	s := numbered(t, 5000)
	for _, c := range bads {
		msg := unhex(t, c.msg)
		if got := allocated(func() { _, _ = s.Reply(msg, 30_000) }); got > 64_000 {
			t.Errorf("%s: %d bytes", c.name, got)
		}
		ask := NewInitiator(s, 30_000)
		if got := allocated(func() { _, _, _, _ = ask.Next(msg) }); got > 64_000 {
			t.Errorf("%s, to who asks: %d bytes", c.name, got)
		}
	}
	// The dearest message for its length: fingerprints that differ, over ranges that
	// are all split.
	dear := []byte{Version}
	for range 1500 {
		dear = append(dear, make([]byte, 19)...)
		dear[len(dear)-17] = modeFingerprint
	}
	if got := allocated(func() { _, _ = s.Reply(dear, 30_000) }); got > 256_000 {
		t.Errorf("fingerprints: %d bytes", got)
	}
}

func allocated(f func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}
