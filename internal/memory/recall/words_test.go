package recall

import (
	"slices"
	"strings"
	"testing"
)

// What people ask with and what is written down become the same terms.
func TestTerms(t *testing.T) {
	for _, tt := range []struct{ text, want string }{
		{"", ""},
		{"What is it, then?", ""},
		{"She went; he goes; they have gone.", "go go go"},
		{"The children’s bikes aren't Ana's", "kid bike ana"},
		{"the boys' toys", "boy toy"},
		{"Café CAFE cafés", "cafe cafe cafe"},
		{"Größe Ærø łódź", "gross aero lodz"},
		{"SQLite3 v0.10.0", "sq lite3 sqlite3 v0 10 0"},
		{"日本語を", "日 日本 本 本語 語 語を"},
		{"猫", "猫"},
		{"Go言語だ", "go 言 言語 語 語だ だ"},
		{"ＡＢＣ１２３", "abc 123 abc123"},
		{"ｶﾀｶﾅ", "カ カタ タ タカ カ カナ ナ"},
		{"ageInDays age_in_days age-in-days", "age day ageindays age day ageindays age day ageindays"},
		{"HTTPServer ABC-1411 ABC1411", "http server httpserver abc 1411 abc1411 abc 1411 abc1411"},
		{"on the 15th of May", "15th"},
		{"🍕", "🍕"},
		{strings.Repeat("x", maxWord+1) + " word", "word"},
		{"\xff\xfe'''’ -- \x00", ""},
	} {
		if got := strings.Join(termsOf(tt.text), " "); got != tt.want {
			t.Errorf("%q becomes %q, not %q", tt.text, got, tt.want)
		}
	}
	// Each form of a word finds the others.
	for _, same := range []string{"go goes going went gone", "swim swam swum swimming swims", "child children kid kids", "photo photograph picture", "favourite favourites",
		"mother mom mommy", "consolidation consolidations", "buy bought buying"} {
		terms := termsOf(same)
		if slices.Sort(terms); len(terms) < 2 || len(slices.Compact(terms)) != 1 {
			t.Errorf("%s are %v", same, terms)
		}
	}
	if n := len(forms); n < 150 {
		t.Errorf("%d irregular forms", n)
	}
}

// Each language is told by its stop words and letters, and brings the forms of its
// words together.
func TestLanguages(t *testing.T) {
	for _, tt := range []struct{ code, text, forms string }{
		{"en", "Where is the boat of the neighbours?", "boats boat"},
		{"de", "Wo liegt das Boot von den Nachbarn?", "Booten Boote"},
		{"fr", "Où est le bateau des voisins ?", "bateaux bateau"},
		{"es", "¿Dónde está el barco de los vecinos?", "barcos barco"},
		{"pt", "Onde está o barco dos vizinhos?", "barcos barco"},
		{"it", "Dove è la barca dei vicini?", "barche barca"},
		{"nl", "Waar ligt de boot van het jaar?", "boten boot"},
		{"sv", "Var ligger båten som är till salu?", "båten båt"},
		{"no", "Hvor ligger båten til en av dem?", "båten båt"},
		{"da", "Hvornår kommer båden, og hvordan?", "båden båd"},
		{"fi", "Missä on se vene, jota hän etsii?", "veneet vene"},
		{"tr", "Bu tekne nerede ve ne kadar?", "tekneler tekne"},
		{"ro", "Unde este barca și cum arată?", "bărcilor bărci"},
		{"hu", "Hol van az a hajó, és mennyi?", "hajók hajó"},
		{"ru", "Где стоит лодка и чья она?", "лодки лодка"},
		{"ar", "أين القارب الذي كان هنا", "القارب قارب"},
	} {
		words := spokenWords(tt.text)
		l := languageOf(words, tt.text)
		if got := languages[l].code; got != tt.code && l.scripted(words[0].text) == l {
			t.Errorf("%q is %s, not %s", tt.text, got, tt.code)
		}
		for i := range languages {
			if languages[i].code != tt.code {
				continue
			}
			a, b, _ := strings.Cut(tt.forms, " ")
			if x, y := language(i).stem(normal(a)), language(i).stem(normal(b)); x != y {
				t.Errorf("%s: %q and %q", tt.code, x, y)
			}
		}
	}
}

func TestSections(t *testing.T) {
	words := func(n int) string { return strings.TrimSpace(strings.Repeat("word ", n)) }
	for _, tt := range []struct {
		name, text string
		want       []int // words of each section
	}{
		{"empty", "", []int{0}},
		{"short", "Hello there.", []int{2}},
		{"paragraphs that belong together", words(30) + "\n\n" + words(30) + "\n\n" + words(20), []int{60, 20}},
		{"paragraphs that would be too long together", words(50) + "\n\n" + words(80), []int{50, 80}},
		{"headings", "# One\n" + words(20) + "\n\n## Two\n\n" + words(10), []int{21, 11}},
		{"no heading", "#One\n\n" + words(10), []int{11}},
		{"sentences", strings.Repeat(words(50)+". ", 5), []int{100, 100, 50}},
		{"no sentences", words(300), []int{120, 120, 60}},
		{"no blanks", strings.Repeat("a-", 300), []int{300}},
	} {
		var got []int
		for _, s := range sections(tt.text) {
			got = append(got, countWords(s))
		}
		if !slices.Equal(got, tt.want) {
			t.Errorf("%s: %v, not %v", tt.name, got, tt.want)
		}
	}
	long := sections(strings.Repeat("# h\n\nw\n\n", 2*maxSections))
	if len(long) != maxSections || countWords(strings.Join(long, "\n")) != 4*maxSections {
		t.Errorf("%d sections of %d words", len(long), countWords(strings.Join(long, "\n")))
	}
}

// FuzzSections: no word of a text is lost or doubled, and nothing stops it.
func FuzzSections(f *testing.F) {
	f.Add("# a\n\nb c.\n\n" + strings.Repeat("x ", 200))
	f.Add(strings.Repeat("日。", 200))
	f.Fuzz(func(t *testing.T, text string) {
		var whole, parts []string
		eachWord(text, func(w word) { whole = append(whole, w.text) })
		all := sections(text)
		for _, s := range all {
			eachWord(s, func(w word) { parts = append(parts, w.text) })
		}
		// Where a run of characters without blanks is cut, a pair of them is lost.
		if len(all) == 0 || len(all) > maxSections || len(parts) > len(whole)+len(all) || !strings.ContainsFunc(text, unbroken) && !slices.Equal(whole, parts) {
			t.Errorf("%d words became %d in %d sections", len(whole), len(parts), len(all))
		}
		termsOf(text)
		timely(text)
	})
}
