package matrix

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"math"
	"slices"
	"strings"
	"testing"
)

func TestTheEmbeddedMatrixIsWhole(t *testing.T) {
	if _, err := parse(embedded, embeddedPieces); err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256([]byte(embedded[headBytes:] + embeddedPieces))
	if want := hex.EncodeToString(sum[:sumBytes]); Version() != want {
		t.Errorf("its version is %s, and its content's %s", Version(), want)
	}
	if size := len(embedded) + len(embeddedPieces); size > 9_000_000 {
		t.Errorf("it has %d bytes", size)
	}
	if Mean() < -0.2 || Mean() > 0.3 || Deviation() < 0.05 || Deviation() > 0.3 {
		t.Errorf("mean %f, deviation %f of its cosines", Mean(), Deviation())
	}
}

func TestPieces(t *testing.T) {
	for text, want := range map[string]string{
		"How do we ship?":                  "how do we ship ?",
		"the release process":              "the release process",
		"Embeddings, unaffable":            "em ##bed ##ding ##s , una ##ffa ##ble",
		"Ünïcödé naïve CAFÉ":               "unicode naive cafe",
		"x\u200by\ttab\nnew\u00a0line":     "x ##y tab new line",
		"a-b_c $3.50":                      "a - b _ c $ 3 . 50",
		"“quoted”…":                        "“ quoted ” …",
		"東京 tower":                         "東 京 tower",
		"zero\x00byte \xff bad":            "zero ##by ##te bad",
		strings.Repeat("a", longestWord+1): "",
		"\U0001F9FF ok":                    "ok",
		"":                                 "",
		"\u0301\u200d \ufeff":              "",
	} {
		var got []string
		for _, id := range shared().pieces.ids(strings.ToValidUTF8(text, "")) {
			got = append(got, shared().pieces.piece(id))
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%q gives %q, not %q", text, strings.Join(got, " "), want)
		}
	}
}

func cosine(a, b []float32) (sum float64) {
	for i := range a {
		sum += float64(a[i]) * float64(b[i])
	}
	return sum
}

func TestWhatMeansTheSameIsNear(t *testing.T) {
	texts := []string{
		"Release process: tag the commit, wait for the build, publish the packages.",
		"The database password is kept in the vault.",
		"My daughter is allergic to peanuts.",
		"The weather in Lisbon is warm and sunny in October.",
		"Invoices are paid within thirty days.",
	}
	for question, want := range map[string]int{
		"how do we ship a new version":               0,
		"where are the credentials of the db":        1,
		"what can the kid not eat":                   2,
		"Wie wird eine neue Version veröffentlicht?": 0,
		"veritabanının parolası nerede":              1,
		"فاتورة الدفع":                               4,
		"데이터베이스 비밀번호":                                1,
		"¿Dónde está la contraseña?":                 1,
		"数据库的密码在哪里":                                  1,
		"請求書の支払い":                                    4,
	} {
		var best, near = -1, -1.0
		for i, text := range texts {
			if c := cosine(Vector(question), Vector(text)); c > near {
				best, near = i, c
			}
		}
		if best != want {
			t.Errorf("%q is nearest to %q", question, texts[best])
		}
	}
	same := cosine(Vector("how do we ship"), Vector("release process"))
	other := cosine(Vector("how do we ship"), Vector("banana bread recipe"))
	if same < other+1.5*float64(Deviation()) {
		t.Errorf("cosine %.3f of what means the same, %.3f of what does not", same, other)
	}
}

func TestVectorsAreOfLengthOne(t *testing.T) {
	v := Vector("Bananas are yellow.")
	if len(v) != Dims || math.Abs(cosine(v, v)-1) > 1e-5 {
		t.Errorf("%d numbers, square %f", len(v), cosine(v, v))
	}
	for _, text := range []string{"", " \n", "\xff", strings.Repeat("q", 70_000)} {
		if v := Vector(text); v != nil {
			t.Errorf("%.20q has a vector", text)
		}
	}
}

func TestALongTextIsCut(t *testing.T) {
	begin := strings.Repeat("ship the release ", MostPieces)
	if !slices.Equal(Vector(begin), Vector(begin+"bananas")) {
		t.Error("what is behind the bound changes the vector")
	}
	if n := len(shared().pieces.ids(strings.Repeat("a ", MostBytes))); n != MostPieces {
		t.Errorf("%d pieces", n)
	}
	if v := Vector(strings.Repeat("é", MostBytes)); v != nil {
		t.Error("a character that is cut in half has a vector")
	}
}

func TestADamagedFileIsRefused(t *testing.T) {
	for name, file := range map[string]string{
		"empty":     "",
		"head only": embedded[:headBytes],
		"cut off":   embedded[:len(embedded)-1],
		"too long":  embedded + "x",
		"magic":     "x" + embedded[1:],
		"form":      embedded[:8] + "\x02" + embedded[9:],
		"rows":      embedded[:12] + "\xff\xff\xff\xff" + embedded[16:],
	} {
		if _, err := parse(file, embeddedPieces); !errors.Is(err, errFile) {
			t.Errorf("%s: %v", name, err)
		}
	}
	for name, pieces := range map[string]string{
		"none": "", "no end": embeddedPieces + "x", "one more": embeddedPieces + "x\n", "an empty one": "\n" + embeddedPieces,
	} {
		if _, err := parse(embedded, pieces); !errors.Is(err, errFile) {
			t.Errorf("pieces, %s: %v", name, err)
		}
	}
}

func FuzzVector(f *testing.F) {
	for _, seed := range []string{"", "How do we ship?", "東京", "a\xffb", "\u0301", strings.Repeat("ab", 60), "##ing", "[UNK]", "\U000e0001x", "ﷺ한국어"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		ids := shared().pieces.ids(text)
		if len(ids) > MostPieces {
			t.Fatalf("%d pieces", len(ids))
		}
		for _, id := range ids {
			if int(id) >= shared().pieces.len() {
				t.Fatalf("piece %d", id)
			}
		}
		v := Vector(text)
		if v == nil {
			return
		}
		if c := cosine(v, v); len(v) != Dims || math.Abs(c-1) > 1e-4 {
			t.Fatalf("%d numbers, square %f", len(v), c)
		}
		if !slices.Equal(v, Vector(text)) {
			t.Fatal("another vector the second time")
		}
	})
}

func BenchmarkVector(b *testing.B) {
	for name, text := range map[string]string{
		"question": "Where do we keep the password of the database?",
		"page":     strings.Repeat("The release process begins with a tag. ", 50),
		"hostile":  strings.Repeat(strings.Repeat("\u1112", longestWord)+" ", 400),
	} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				Vector(text)
			}
		})
	}
}

func BenchmarkParse(b *testing.B) {
	for b.Loop() {
		if _, err := parse(embedded, embeddedPieces); err != nil {
			b.Fatal(err)
		}
	}
}
