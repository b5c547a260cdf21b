package answer

import (
	"fmt"
	"strings"
	"testing"

	"engramd/internal/memory/quote"
	"engramd/internal/memory/recall"
)

// household is a small memory of many subjects, in several languages.
var household = map[string]string{
	"mem/people/ada":     "Ada prefers coffee to tea in the morning, without sugar.",
	"mem/people/kim":     "Kim teaches chess to her cousins on Saturdays.",
	"mem/places/mill":    "The mill grinds rye and wheat for three villages.",
	"mem/birds":          "Storks nest on the chimney from March on.",
	"mem/tools/printer":  "The printer takes A4 from the lower tray; labels go into the upper one.",
	"mem/tools/stove":    "The stove burns beech, never pine: pine leaves tar in the pipe.",
	"mem/atlas/deploy":   "Atlas is deployed by git push to the server ferry; migrations run before the switch.",
	"mem/atlas/backup":   "Backups of Atlas are encrypted with age and copied to the shed every night.",
	"mem/harbour":        "---\nstate: archived\n---\nThe harbour charges twelve euros a night.",
	"mem/zh/ferry":       "渡轮每天早上七点从码头出发。",
	"mem/ja/wifi":        "合言葉は冷蔵庫の扉に貼ってある。",
	"mem/ko/key":         "예비 열쇠는 화분 밑에 있다.",
	"mem/de/heizung":     "Die Heizung wird im Oktober entlüftet, bevor sie angestellt wird.",
	"mem/travel/stamped": "Tickets are stamped before boarding.",
}

// README's own question is answered, by the memory that README plants.
func TestReadmeIsAnswered(t *testing.T) {
	a, err := Recall(over(t, State{AsOf: now}, household), Query{Text: "What does Ada like?"}, now)
	if err != nil || len(a.Hits) == 0 || a.Hits[0].Slug != "mem/people/ada" || !a.Hits[0].Whole || !strings.Contains(a.Block, "| Ada prefers coffee to tea in the morning, without sugar.\n") {
		t.Errorf("%+v, %v", a, err)
	}
}

// TestFit: an answer says how well its best hits fit, and a weak one says so before
// anything else.
func TestFit(t *testing.T) {
	v := over(t, State{AsOf: now}, household)
	for name, tt := range map[string]struct {
		query string
		want  recall.Fit
		first string // of the hits
	}{
		"strong":  {"Which wood does the stove burn?", recall.Strong, "mem/tools/stove"},
		"weak":    {"Is the shed painted before winter, by the neighbours or their children?", recall.Weak, ""},
		"nothing": {"Quantum chromodynamics", recall.None, ""},
	} {
		a, err := Recall(v, Query{Text: tt.query}, now)
		if err != nil || a.Fit != tt.want {
			t.Errorf("%s: %v, %+v, %v", name, a.Fit, a, err)
			continue
		}
		weak := strings.HasPrefix(a.Block, "No memory fits well; these are the nearest.\n"+quote.Mixed)
		if weak != (tt.want == recall.Weak) || strings.Count(a.Block, "No memory fits well") > 1 {
			t.Errorf("%s begins\n%s", name, a.Block)
		}
		if (a.Try != "") != (tt.want == recall.None) || (a.Block == "") != (tt.want == recall.None) || (len(a.Hits) == 0) != (tt.want == recall.None) {
			t.Errorf("%s: %+v", name, a)
		}
		if tt.first != "" && (a.Hits[0].Slug != tt.first || a.Hits[0].Fit != tt.want) {
			t.Errorf("%s: %+v", name, a.Hits)
		}
		for _, h := range a.Hits {
			if h.Fit == recall.None || len(h.Why) == 0 || h.Fit == recall.Strong && tt.want == recall.Weak {
				t.Errorf("%s: %+v", name, h)
			}
		}
	}
	for budget := MinBudget; budget < 900; budget++ { // the line counts too
		if a, err := Recall(v, Query{Text: "Is the shed painted before winter, by the neighbours or their children?", Budget: budget}, now); err != nil || len(a.Block) > budget {
			t.Fatalf("%d bytes of %d: %v", len(a.Block), budget, err)
		}
	}
}

// TestSmallestBudget: the smallest budget has room for a short text behind the lines
// that say what it is, and where a title is too long for it, the answer says so.
func TestSmallestBudget(t *testing.T) {
	v := over(t, State{AsOf: now}, household)
	for _, text := range []string{"Which wood does the stove burn?", "Is the shed painted before winter, by the neighbours or their children?"} {
		if a, err := Recall(v, Query{Text: text, Budget: MinBudget}, now); err != nil || len(a.Hits) == 0 || len(a.Block) > MinBudget || a.Try != "" {
			t.Errorf("%s: %+v, %v", text, a, err)
		}
	}
	v = over(t, State{AsOf: now}, map[string]string{"mem/" + strings.Repeat("stove-", 40): "The stove burns 白樺 " + strings.Repeat("木", 80)})
	if a, err := Recall(v, Query{Text: "Which wood does the stove burn?", Budget: MinBudget}, now); err != nil || len(a.Hits) > 0 || a.More != 1 || a.Try != "a larger budget: the best has no room" {
		t.Errorf("%+v, %v", a, err)
	}
}

// TestTry: an answer without a hit names the filter that left something out, else a
// search.
func TestTry(t *testing.T) {
	v := over(t, State{AsOf: now}, household)
	for name, tt := range map[string]struct {
		q    Query
		want string
	}{
		"a state":   {Query{Text: "What does the harbour charge?"}, "a wider filter: mem/harbour is left out (state: archived)"},
		"a type":    {Query{Text: "Which wood does the stove burn?", Types: []string{"episodic"}}, "a wider filter: mem/tools/stove is left out (filter: types)"},
		"a tag":     {Query{Text: "Which wood does the stove burn?", Tags: []string{"x"}}, "a wider filter: mem/tools/stove is left out (filter: tags)"},
		"a prefix":  {Query{Text: "Which wood does the stove burn?", Prefix: "people"}, "a wider filter: mem/tools/stove is left out (filter: prefix)"},
		"a day":     {Query{Text: "Which wood does the stove burn?", Since: "2030-01-01"}, "a wider filter: mem/tools/stove is left out (filter: since)"},
		"its end":   {Query{Text: "Which wood does the stove burn?", Until: "2001-01-01"}, "a wider filter: mem/tools/stove is left out (filter: until)"},
		"a trust":   {Query{Text: "Which wood does the stove burn?", MinTrust: "told"}, "a wider filter: mem/tools/stove is left out (trust: observed)"},
		"a project": {Query{Text: "white lead", Scope: onPier}, "a wider filter: mem/projects/barge/paint is left out (project)"},
		"no word":   {Query{Text: "Quantum chromodynamics"}, "memory_search with single words, or memory_list"},
	} {
		from := v
		if name == "a project" {
			from = over(t, State{AsOf: now}, harbour)
		}
		a, err := Recall(from, tt.q, now)
		if err != nil || a.Fit != recall.None || len(a.Hits) > 0 || a.Try != tt.want {
			t.Errorf("%s: %q, %+v, %v", name, a.Try, a.Hits, err)
		}
	}
}

// TestTell: a prompt that bears on a memory is told it, however long it is and in
// whichever script; one that bears on none is told nothing, and no word of what was
// left out.
func TestTell(t *testing.T) {
	v := over(t, State{AsOf: now}, household)
	talk := "Hello again. I slept badly, and the train was late again, so I only have twenty minutes until my next meeting begins. Yesterday evening we wandered along the river, had soup, and talked about the weather. "
	for prompt, want := range map[string]string{
		"Which wood does the stove burn?":                                        "mem/tools/stove",
		"How is Atlas deployed, and when do its migrations run?":                 "mem/atlas/deploy",
		talk + "Anyway: how is Atlas deployed, and when do its migrations run? ": "mem/atlas/deploy",
		"渡轮几点出发？":                                                                "mem/zh/ferry",
		"合言葉はどこ？":                                                                "mem/ja/wifi",
		"예비 열쇠 어디?":                                                              "mem/ko/key",
		"Heizung entlüften":                                                      "mem/de/heizung",
		talk:                                                                     "",
		"yes, go on":                                                             "",
		"Thank you, that is all for today!":                                      "",
		"Please run it again and use the space.":                                 "",
		"🦆🦆":                                                                     "",
		"好的，谢谢":                                                                  "",
	} {
		a, err := Tell(v, Query{Text: prompt}, now)
		if err != nil {
			t.Fatal(err)
		}
		if want == "" {
			if len(a.Hits) > 0 || a.Block != "" || a.Others > 0 || a.Fit != recall.None || a.Try != "" {
				t.Errorf("%q: %+v", prompt, a)
			}
			continue
		}
		if len(a.Hits) == 0 || a.Hits[0].Slug != want || a.Fit != recall.Strong || !strings.HasPrefix(a.Block, quote.Mixed+"## "+want+" (") {
			t.Errorf("%q: %+v", prompt, a)
		}
	}
	if _, err := Tell(v, Query{Text: "?!"}, now); err == nil {
		t.Error("a prompt without a word is read")
	}
}

// At most three are told, whatever matches.
func TestTellIsShort(t *testing.T) {
	texts := map[string]string{}
	for slug, text := range household {
		texts[slug] = text
	}
	for i, who := range []string{"Ana", "Bo", "Cem", "Dora", "Eli", "Finn"} {
		texts[fmt.Sprintf("mem/regatta/%d", i)] = who + " sails the yellow dinghy in the spring regatta."
	}
	a, err := Tell(over(t, State{AsOf: now}, texts), Query{Text: "Who sails the yellow dinghy in the spring regatta?", Budget: MaxBudget}, now)
	if n := len(a.Hits); err != nil || n == 0 || n > recall.MostTold {
		t.Errorf("%+v, %v", a, err)
	}
}

// TestPart: a long memory stands in a block by its best section, which says where it
// is and how long the whole is; a short one stands there whole.
func TestPart(t *testing.T) {
	var long strings.Builder
	for i := range 9 {
		fmt.Fprintf(&long, "# Month %d\n\n%s\n\n", i+1, strings.Repeat(fmt.Sprintf("Ledger page %d was balanced and filed. ", i), 8))
		if i == 4 {
			long.WriteString("The zeppelin hangar was leased to the museum.\n\n")
		}
	}
	texts := map[string]string{"mem/ledger": long.String()}
	for slug, text := range household {
		texts[slug] = text
	}
	v := over(t, State{AsOf: now}, texts)
	a, err := Recall(v, Query{Text: "Who leased the zeppelin hangar?"}, now)
	if err != nil || len(a.Hits) == 0 || a.Hits[0].Slug != "mem/ledger" || a.Hits[0].Whole {
		t.Fatalf("%+v, %v", a, err)
	}
	var part, of, at, size int
	_, about, _ := strings.Cut(a.Block, "; part ")
	if n, err := fmt.Sscanf(about, "%d of %d, about byte %d of %d: memory_read gives all", &part, &of, &at, &size); n != 4 || size != len(long.String()) || part < 2 || part > of {
		t.Errorf("%v, %d of %d, byte %d of %d\n%s", err, part, of, at, size, a.Block)
	}
	if where := strings.Index(long.String(), "The zeppelin"); at > where || where-at > 2*size/of+600 {
		t.Errorf("the section begins at byte %d, and its words are at %d", at, where)
	}
	if !strings.Contains(a.Block, "The zeppelin hangar was leased") || strings.Contains(a.Block, "page 0 was") || len(a.Block) > len(long.String()) {
		t.Errorf("%s", a.Block)
	}
}
