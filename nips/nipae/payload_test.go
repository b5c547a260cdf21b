package nipae

import (
	"encoding/base64"
	"errors"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/nbd-wtf/go-nostr/nip44"
)

// paddedByTheBook is calc_padded_len as NIP-44 prints it, in floating point.
func paddedByTheBook(n int) int {
	if n <= 32 {
		return 32
	}
	nextPower := 1 << (int(math.Floor(math.Log2(float64(n-1)))) + 1)
	chunk := 32
	if nextPower > 256 {
		chunk = nextPower / 8
	}
	return chunk * (int(math.Floor(float64(n-1)/float64(chunk))) + 1)
}

// paddedSizes is the set of all sizes that plaintexts are padded to.
func paddedSizes() map[int]bool {
	set := map[int]bool{}
	for n := 1; n <= 65535; n++ {
		set[paddedByTheBook(n)] = true
	}
	return set
}

// payload is a payload of size bytes in canonical base64.
func payload(size int) string {
	b := make([]byte, size)
	if size > 0 {
		b[0] = 2
	}
	return base64.StdEncoding.EncodeToString(b)
}

func TestPaddedSizesAreExact(t *testing.T) {
	valid := paddedSizes()
	for n := 1; n <= 65535; n++ {
		if PaddedSize(n) != paddedByTheBook(n) {
			t.Fatalf("PaddedSize(%d) = %d, want %d", n, PaddedSize(n), paddedByTheBook(n))
		}
	}
	for n := -10; n <= 140_000; n++ {
		if isPadded(n) != valid[n] {
			t.Fatalf("isPadded(%d) = %v, want %v", n, isPadded(n), valid[n])
		}
	}
}

func TestCheckPayloadAllowsExactlyThePaddedLengths(t *testing.T) {
	valid := paddedSizes()
	check := func(size int) {
		err := CheckPayload(payload(size))
		if (err == nil) != valid[size-payloadFrame] {
			t.Errorf("%d bytes: %v", size, err)
		}
	}
	for padded := range valid {
		for around := -2; around <= 2; around++ {
			check(payloadFrame + padded + around)
		}
	}
	for size := 0; size < 1500; size++ {
		check(size)
	}
	for _, size := range []int{98, 99, 65602, 65603, 65604, 65605, 67 + 131072} {
		check(size)
	}
}

func TestCheckPayloadAcceptsWhatIsEncrypted(t *testing.T) {
	key, err := nip44.GenerateConversationKey("c6047f9441ed7d6d3045406e95c07cd85c778e4b8cef3ca7abac09b95c709ee5",
		"0000000000000000000000000000000000000000000000000000000000000001")
	if err != nil {
		t.Fatal(err)
	}
	for _, size := range []int{1, 31, 32, 33, 64, 65, 255, 256, 257, 1000, 4096, 40000, 65534, 65535} {
		sealed, err := nip44.Encrypt(strings.Repeat("x", size), key)
		if err != nil {
			t.Fatal(err)
		}
		if err := CheckPayload(sealed); err != nil {
			t.Errorf("a plaintext of %d bytes: %v", size, err)
		}
	}
}

func TestCheckPayloadRefuses(t *testing.T) {
	good := payload(99)        // 132 characters, no padding
	padded := payload(67 + 64) // 131 bytes: one =
	double := payload(67 + 96) // 163 bytes: two =… or one, by arithmetic
	if !strings.HasSuffix(padded, "=") {
		t.Fatal("the fixture has no padding")
	}
	tests := []struct{ name, in string }{
		{"empty", ""},
		{"JSON", `{"slug":"core","profile":""}`},
		{"version to come", "#" + good[1:]},
		{"version 1", "AQ" + good[2:]},
		{"version 3", "Aw" + good[2:]},
		{"version 0", "AA" + good[2:]},
		{"line break at the end", good + "\n"},
		{"line break inside", good[:64] + "\n" + good[64:]},
		{"line breaks that keep the length a multiple of four", good[:64] + "\r\n\r\n" + good[64:]},
		{"space", good[:64] + "    " + good[64:]},
		{"URL alphabet", strings.Replace(good, "AAAA", "A-_A", 1)},
		{"padding cut off", strings.TrimRight(padded, "=")},
		{"padding too long", padded + "="},
		{"padding for nothing", good + "===="},
		{"padding inside", good[:60] + "A=" + good[62:]},
		{"stray bits under the padding", padded[:len(padded)-2] + "B="},
		{"stray bits under the padding of two", strings.TrimRight(double, "=")[:len(double)-3] + "Bw="},
		{"not ASCII", good[:128] + "é" + good[130:]},
		{"NUL", good[:131] + "\x00"},
		{"only padding", "===="},
		{"three padding", "A==="},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if err := CheckPayload(tt.in); !errors.Is(err, ErrPayload) {
				t.Errorf("got %v", err)
			}
		})
	}
}

// canonicalByTheBook decodes and encodes again.
func canonicalByTheBook(s string) (size int, ok bool) {
	b, err := base64.StdEncoding.Strict().DecodeString(s)
	return len(b), err == nil && len(b) > 0 && base64.StdEncoding.EncodeToString(b) == s
}

func TestCanonicalBase64MatchesDecoder(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 8))
	for range 20_000 {
		b := make([]byte, r.IntN(12))
		for i := range b {
			b[i] = byte(r.IntN(256))
		}
		s := []byte(base64.StdEncoding.EncodeToString(b))
		if len(s) > 0 && r.IntN(2) == 0 {
			s[r.IntN(len(s))] = "AB+/=\n\r -_\x80"[r.IntN(11)]
		}
		checkBase64(t, string(s))
	}
}

func checkBase64(t *testing.T, s string) {
	t.Helper()
	size, ok := canonicalBase64(s)
	wantSize, want := canonicalByTheBook(s)
	if ok != want || ok && size != wantSize {
		t.Fatalf("canonicalBase64(%q) = %d, %v, want %d, %v", s, size, ok, wantSize, want)
	}
}

func TestCheckPayloadAllocatesNothing(t *testing.T) {
	in := payload(65603)
	if n := testing.AllocsPerRun(10, func() { _ = CheckPayload(in) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func FuzzCheckPayload(f *testing.F) {
	for _, size := range []int{0, 1, 98, 99, 100, 131, 163, 65603} {
		f.Add(payload(size))
	}
	f.Add(payload(99)[:64] + "\n")
	f.Add(payload(131)[:len(payload(131))-2] + "B=")
	valid := paddedSizes()
	f.Fuzz(func(t *testing.T, s string) {
		checkBase64(t, s)
		size, ok := canonicalByTheBook(s)
		want := ok && size >= 99 && size <= 65603 && valid[size-67]
		if want {
			first, _ := base64.StdEncoding.DecodeString(s[:4])
			want = first[0] == 2
		}
		if err := CheckPayload(s); (err == nil) != want {
			t.Fatalf("CheckPayload(%q): %v, want accepted = %v", s, err, want)
		}
	})
}

func BenchmarkCheckPayload(b *testing.B) {
	in := payload(65603)
	b.SetBytes(int64(len(in)))
	b.ReportAllocs()
	for b.Loop() {
		if err := CheckPayload(in); err != nil {
			b.Fatal(err)
		}
	}
}
