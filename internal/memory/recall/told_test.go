package recall

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"engramd/nips/frontmatter"
)

// shop is a small memory of a project, with people, an identifier and an act.
func shop() library {
	return library{
		"mem/people/ada":      "Ada prefers coffee to tea in the morning, without sugar.",
		"mem/people/bo":       "Bo is on leave until March.",
		"mem/shop/deploys":    "Deploys go through the heron staging database first; rollback is make unship.",
		"mem/shop/ids":        "orderSerialKey() counts per site; ticket SHOP-1411 explains why.",
		"mem/shop/tests":      "---\nwhen_doing: [writing tests, fixing a flaky test]\n---\nTable cases, one assertion each, no clock.",
		"mem/shop/ledger":     "The ledger is a SQLite file that the bookkeeper copies every evening.",
		"mem/garden/walnut":   "The walnut tree is cut in August, before the sap rises.",
		"mem/garden/tap":      "The tap behind the shed leaks; the washer is three quarters of an inch.",
		"mem/travel/ferry":    "The night ferry to Turku leaves from quay five at ten.",
		"mem/kitchen/dough":   "Sourdough rests for eleven hours at eighteen degrees.",
		"mem/office/printer":  "The printer on the second floor needs the blue tray for envelopes.",
		"mem/office/heating":  "The boiler is serviced every May by the Lindqvist company.",
		"mem/notes/japanese":  "望遠レンズを隣の佐藤さんに貸しました。",
		"mem/notes/german":    "Die Apfelbäume schneiden wir immer im Februar.",
		"mem/notes/ledger-de": "Frau Lindemann gibt mittwochs Geigenstunden im Wohnzimmer.",
	}
}

// A question is answered by a word in any form, a person, an identifier or a
// character; the answer says how well it fits.
func TestAskedIsAnswered(t *testing.T) {
	l := shop()
	x := l.index(t)
	for _, tt := range []struct {
		query, first string
		fit          Fit
	}{
		{"What does Ada like?", "mem/people/ada", Strong},
		{"When will BO be back?", "mem/people/bo", Strong},
		{"order serial key", "mem/shop/ids", Strong},
		{"SHOP1411", "mem/shop/ids", Strong},
		{"shop_1411", "mem/shop/ids", Strong},
		{"hern stagng databse", "mem/shop/deploys", Strong},
		{"Wann wird der Apfelbaum geschnitten?", "mem/notes/german", Strong},
		{"Wer unterrichtet Geige?", "mem/notes/ledger-de", Weak},
		{"望遠レンズは誰が持っていますか？", "mem/notes/japanese", Strong},
		{"レンズ", "mem/notes/japanese", Strong},
		{"ﾚﾝｽﾞ", "mem/notes/japanese", Strong},
		{"隣", "mem/notes/japanese", Strong},
		{"dough that rests for ours", "mem/kitchen/dough", Weak},
		{"sour", "mem/kitchen/dough", Weak},
		{"Stunden", "mem/notes/ledger-de", Weak},
		{"What is the capital of Mongolia, and who built the railway through its desert?", "", None},
	} {
		found := x.Recall(Query{Text: tt.query, Now: now}, Recipe(), l.texts)
		first := ""
		if len(found) > 0 {
			first = found[0].Slug
		}
		if first != tt.first || FitOf(found) != tt.fit && tt.fit != Weak {
			t.Errorf("%q: %q, %v", tt.query, first, FitOf(found))
		}
	}
}

// Facts of one session are no talk: none brings another, each has a reason, and
// reasons are true.
func TestFactsBringNoOthers(t *testing.T) {
	l := shop()
	x := New()
	for slug, text := range l {
		d := memory(slug, text)
		d.Session = "one"
		if err := x.Put(d); err != nil {
			t.Fatal(err)
		}
	}
	for query, want := range map[string]string{
		"When is the boiler serviced?": "mem/office/heating", "Which quay does the night ferry leave from?": "mem/travel/ferry",
		"How long does the sourdough rest?": "mem/kitchen/dough",
	} {
		found := x.Recall(Query{Text: query, Now: now}, Recipe(), l.texts)
		if names(found) != want {
			t.Errorf("%q finds %s", query, names(found))
		}
		for _, f := range found {
			if f.Why == 0 || f.Why&ByWords != 0 && len(f.Words) == 0 {
				t.Errorf("%q: %s by %v, words %v", query, f.Slug, f.Why.Names(), f.Words)
			}
		}
	}
}

// A line of a talk is carried by those beside it, and says so; a fact is not.
func TestBeside(t *testing.T) {
	x := indexOf(t, episode("mem/j/1", "s", "Ana", "How was the regatta in Kiel?", 1), episode("mem/j/2", "s", "Bo", "We came second, and Mia fell in.", 2), episode("mem/j/3", "other", "Bo", "Mia has a cold.", 3))
	texts := func(string) (string, bool) { return "", false }
	found := x.Recall(Query{Text: "the regatta in Kiel"}, Recipe(), texts)
	at := slices.IndexFunc(found, func(f Found) bool { return f.Slug == "mem/j/2" })
	if len(found) != 2 || at < 0 || found[at].Why != ByBeside || len(found[at].Words) > 0 || found[1-at].Why != ByWords {
		t.Errorf("%+v", found)
	}
}

// What is only linked comes with a hit that fits well, and not with others.
func TestLinkedNeedsAStrongHit(t *testing.T) {
	l := shop()
	l["mem/shop/ledger"] = "---\nrelated_to: [mem/garden/tap]\n---\n" + l["mem/shop/ledger"]
	x := l.index(t)
	for query, want := range map[string]bool{"Who copies the SQLite ledger every evening, the bookkeeper?": true, "Where does the committee of the regatta meet every evening?": false} {
		found := x.Recall(Query{Text: query, Now: now}, Recipe(), l.texts)
		if got := strings.Contains(names(found), "mem/garden/tap"); got != want {
			t.Errorf("%q finds %s", query, names(found))
		}
	}
}

// A prompt is told what bears on it, behind any talk, and nothing else.
func TestTold(t *testing.T) {
	l := shop()
	x := l.index(t)
	before := "Sorry for the interruption earlier, a neighbour rang at the door and stayed for quite a while. I have pushed what I had so far, although half of it is probably rubbish. Let us go slowly from here on, one step after the other, and please stop me if I talk nonsense. First of all: "
	for _, tt := range []struct{ prompt, want string }{
		{"Deploy the branch, with the heron staging database first", "mem/shop/deploys"},
		{before + "which rollback do we have after a deploy through the heron staging database?", "mem/shop/deploys"},
		{before + "fix the flaky test in the cart module.", "mem/shop/tests"},
		{"I am writing tests for the ledger page", "mem/shop/tests"},
		{"望遠レンズは誰?", "mem/notes/japanese"},
		{"Please continue", ""},
		{before, ""},
		{"Use it, and leave some space where they run", ""},
		{"She was running late and leaves tomorrow morning, so leave her some space", ""},
		{"Das hast du gut gemacht, danke!", ""},
		{"The weather is bad today", ""},
		{"Write a limerick about a lazy walrus", ""},
		{"", ""},
		{strings.Repeat("x", 5000), ""},
	} {
		told := x.Told(Query{Text: tt.prompt[:min(len(tt.prompt), MaxQuery)], Now: now}, Recipe(), l.texts)
		if len(told) > MostTold || !strings.HasPrefix(names(told), tt.want) || tt.want == "" && len(told) > 0 {
			t.Errorf("%.60q is told %s, not %q", tt.prompt, names(told), tt.want)
		}
	}
}

func TestWindows(t *testing.T) {
	sentence := "one two three four five six seven eight nine ten eleven twelve thirteen. "
	for _, tt := range []struct {
		text string
		want []int
	}{
		{"", nil},
		{"Who is Ada?", []int{3}},
		{sentence + sentence, []int{13, 13}},
		{"Yes. No. " + sentence, []int{15}},
		{strings.Repeat("word ", 50), []int{20, 20, 10}},
		{strings.Repeat(sentence, 100), nil},
	} {
		all := windows(tt.text)
		var got []int
		for _, w := range all {
			if got = append(got, countWords(w)); got[len(got)-1] > mostWindow {
				t.Errorf("a window of %d words", got[len(got)-1])
			}
		}
		if len(all) > mostWindows || tt.want != nil && fmt.Sprint(got) != fmt.Sprint(tt.want) {
			t.Errorf("%.30q: %v, not %v", tt.text, got, tt.want)
		}
	}
}

// FuzzTold: nothing stops a prompt, and at most three memories are told.
func FuzzTold(f *testing.F) {
	l := shop()
	x := l.index(f)
	f.Add("Deploy it.\n" + strings.Repeat("log line 17 ", 400))
	f.Add("隣のレンズ🍕 ‏ ＡＢＣ１２３")
	f.Fuzz(func(t *testing.T, prompt string) {
		prompt = prompt[:min(len(prompt), MaxQuery)]
		if told := x.Told(Query{Text: prompt, Now: now}, Recipe(), l.texts); len(told) > MostTold {
			t.Errorf("%d are told", len(told))
		}
		x.Recall(Query{Text: prompt, Now: now, Filter: Filter{MinTrust: frontmatter.Derived}}, Recipe(), l.texts)
	})
}

// What a query may not see changes nothing: not which words are known, nor how rare
// one is.
func TestHiddenWordsAreUnknown(t *testing.T) {
	own := library{"mem/keller": "Die Sicherungskopien liegen im Keller.", "mem/boot": "Das Boot liegt im Hafen."}
	q := Query{Text: "Sicherung", Now: now}
	alone := names(own.index(t).Recall(q, Recipe(), own.texts))
	own["mem/other"] = "---\nstate: archived\n---\nDie Sicherung ist durchgebrannt."
	if got := names(own.index(t).Recall(q, Recipe(), own.texts)); got != alone || alone != "mem/keller" {
		t.Errorf("finds %q beside an archived memory, and %q without", got, alone)
	}
}

// A day that most memories are of tells none from another, but where it is all that is
// asked for.
func TestDatesOfNearlyAll(t *testing.T) {
	x := New()
	for day, text := range []string{"Kim mended the gate.", "The ferry was late.", "It rained on the tents.", "Lee phoned about the lease.", "The bees swarmed."} {
		d := memory(fmt.Sprint("mem/", day), text)
		d.When = time.Date(2026, 11, 20+day, 9, 0, 0, 0, time.UTC)
		if err := x.Put(d); err != nil {
			t.Fatal(err)
		}
	}
	texts := func(string) (string, bool) { return "text", true }
	for query, want := range map[string]string{"What happened on 2026-11-20?": "mem/0", "What happened in November?": "mem/", "Who phoned in November about the lease?": "mem/3"} {
		found := x.Recall(Query{Text: query, Now: now}, Recipe(), texts)
		if !strings.HasPrefix(names(found), want) {
			t.Errorf("%q finds %q", query, names(found))
		}
	}
}

// A query of stop words alone may be a name or a letter.
func TestStopWordsAlone(t *testing.T) {
	l := library{"mem/dan": "Dan keeps the keys.", "mem/c": "The driver is written in C.", "mem/walk": "The heron stood in the reeds."}
	x := l.index(t)
	for query, want := range map[string]string{"Dan": "mem/dan", "C": "mem/c"} {
		if got := names(x.Recall(Query{Text: query, Now: now}, Recipe(), l.texts)); got != want {
			t.Errorf("%q finds %q", query, got)
		}
	}
}
