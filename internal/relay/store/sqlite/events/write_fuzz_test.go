package events_test

import (
	"strconv"
	"strings"
	"testing"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/relay/store/sqlite/events"
)

// FuzzDeletionAddress: what an a tag of a deletion request names is an address
// of its author, written in the one canonical way, or nothing.
func FuzzDeletionAddress(f *testing.F) {
	for _, seed := range []string{
		"30023:" + alice.Pub + ":x", "0:" + alice.Pub, "0:" + alice.Pub + ":", "30023:" + alice.Pub + ":a:b", "::", "",
		"1:" + alice.Pub + ":", "030023:" + alice.Pub + ":x", "30023:" + bob.Pub + ":x", "-1:" + alice.Pub + ":x",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, target string) {
		kind, d, ok := events.OwnAddress(target, alice.Pub)
		if !ok {
			return
		}
		again := strconv.Itoa(kind) + ":" + alice.Pub + ":" + d
		if again != target && again != target+":" {
			t.Errorf("%q is read as %q", target, again)
		}
		if !nostr.IsAddressableKind(kind) && (!nostr.IsReplaceableKind(kind) || d != "") {
			t.Errorf("%q: kind %d has no such address", target, kind)
		}
	})
}

// FuzzKey: a tag value and its key in the database say the same.
func FuzzKey(f *testing.F) {
	for _, seed := range []string{"", "x", alice.Pub, strings.ToUpper(alice.Pub), alice.Pub[1:], alice.Pub + "0", "\x00\xff"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, value string) {
		again, blob, err := events.ThroughKey(value)
		if err != nil || again != value {
			t.Errorf("%q comes back as %q, %v", value, again, err)
		}
		if hex := len(value) == 64 && strings.Trim(value, "0123456789abcdef") == ""; blob != hex {
			t.Errorf("%q: stored as a BLOB: %v", value, blob)
		}
	})
}

// FuzzTagRows: whatever the tags, the rows are distinct, and those of single
// letters alone.
func FuzzTagRows(f *testing.F) {
	f.Add("e\x00a\x01e\x00a\x01d\x00x\x01d\x00y\x01ee\x00z\x01p")
	f.Fuzz(func(t *testing.T, text string) {
		var tags nostr.Tags
		for part := range strings.SplitSeq(text, "\x01") {
			tags = append(tags, strings.Split(part, "\x00"))
		}
		seen := map[[2]string]bool{}
		for _, row := range events.TagRows(tags) {
			if seen[row] || row[0] == "" {
				t.Errorf("row %q", row)
			}
			seen[row] = true
		}
		for _, tag := range tags {
			if len(tag) < 2 || len(tag[0]) != 1 {
				continue
			}
			if c := tag[0][0] | 0x20; ('a' <= c && c <= 'z') != seen[[2]string{tag[0], tag[1]}] {
				t.Errorf("tag %q: listed wrongly", tag)
			}
		}
	})
}
