package measure

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"engramd/internal/memory/recall"
	"engramd/nips/frontmatter"
)

// MaxSubjects is the largest set that Synthetic makes.
const MaxSubjects = 2000

var (
	stores   = strings.Fields("SQLite Postgres Redis Badger Cassandra Parquet DuckDB Kafka")
	reasons  = []string{"one file is easy to copy", "two nodes must agree", "reads are many and writes are few", "nobody is on call at night", "the auditors asked for it"}
	cities   = strings.Fields("Lisbon Oslo Nairobi Kyoto Lima Tallinn Quito Hanoi Bergen Porto")
	hobbies  = strings.Fields("pottery sailing chess climbing gardening fencing astronomy baking")
	foods    = strings.Fields("dumplings lasagne falafel ramen paella pierogi curry goulash")
	failures = []string{"certificates had expired", "the disk was full", "two leaders were elected", "a retry loop never ended", "clocks had drifted apart"}
	tasks    = strings.Fields("handover migration audit relaunch translation rewrite certification shutdown")
	doings   = strings.Fields("prepare schedule supervise coordinate organise finance")
	colours  = strings.Fields("purple cyan green orange crimson silver")
	chatter  = []string{"Good morning! Did everything build?", "Thanks, that looks fine to me.", "Let me know once the review is through.", "I will look at it after lunch.",
		"The coffee machine is broken again.", "Can we move the meeting?", "Nothing new from my side.", "Great work on the release, everyone."}
	foreign = []string{"What is the capital of Mongolia?", "How tall is Mount Kilimanjaro?", "Which enzyme breaks down lactose?", "Who painted the Sistine Chapel?",
		"When was the printing press invented?", "How many moons does Jupiter have?", "What does a barometer measure?", "Which planet has the longest winters?"}
)

type maker struct {
	rnd  *rand.Rand
	m    Memory
	used map[string]bool
	at   time.Time // of what is written next
}

// Synthetic makes a set of one memory about that many subjects: facts, updates,
// dates, intentions to mislead, links and chatter, with questions as people ask
// them: inflected, mistyped, with names. The same seed makes the same set.
func Synthetic(subjects int, seed uint64) *Set {
	k := &maker{rnd: rand.New(rand.NewPCG(seed, 90)), used: map[string]bool{}, at: time.Date(2025, 1, 6, 9, 0, 0, 0, time.UTC)}
	k.m = Memory{Name: "synthetic", Now: k.at.AddDate(2, 0, 0)}
	for i := range subjects {
		project, person := k.name(), k.name()
		k.facts(project, person)
		k.updates(project)
		k.episodes(i, project, person)
		k.people(project, person)
		k.asked(foreign[i%len(foreign)], "nothing")
	}
	return &Set{Name: fmt.Sprintf("synthetic, %d subjects, seed %d", subjects, seed), Memories: []Memory{k.m}}
}

// name makes a name that was not there before.
func (k *maker) name() string {
	for {
		var s strings.Builder
		for range 3 {
			s.WriteByte("bdfglmnprstvz"[k.rnd.IntN(13)])
			s.WriteByte("aeiou"[k.rnd.IntN(5)])
		}
		if name := strings.ToUpper(s.String()[:1]) + s.String()[1:]; !k.used[name] {
			k.used[name] = true
			return name
		}
	}
}

func (k *maker) one(of []string) string { return of[k.rnd.IntN(len(of))] }

func (k *maker) mistyped(name string) string {
	i := 1 + k.rnd.IntN(len(name)-2)
	return name[:i] + name[i+1:i+2] + name[i:i+1] + name[i+2:]
}

// put writes a memory some hours after the one before.
func (k *maker) put(slug, text string, change ...func(*recall.Document)) string {
	k.at = k.at.Add(time.Duration(1+k.rnd.IntN(5)) * time.Hour)
	d := recall.Of("mem/"+strings.ToLower(slug), frontmatter.Parse(text), k.at)
	for _, c := range change {
		c(&d)
	}
	k.m.Documents = append(k.m.Documents, d)
	return d.Slug
}

func (k *maker) asked(text, kind string, evidence ...string) {
	k.m.Questions = append(k.m.Questions, Question{Text: text, Kind: kind, Evidence: evidence})
}

// facts of a project: in a unit of several sections, beside what only sounds
// alike and beside somebody else's words.
func (k *maker) facts(project, person string) {
	store, reason := k.one(stores), k.one(reasons)
	filler := strings.Repeat("It has tests, a readme and a nightly build, like every project here. ", 6)
	slug := k.put("projects/"+project, fmt.Sprintf("---\ndescription: What %s is\n---\n# Purpose\n\n%s counts parcels. %s\n\n# Storage\n\n%s keeps its database in %s, because %s. %s\n\n# Hosting\n\nThe servers stand in %s. %s\n",
		project, project, filler, project, store, reason, filler, k.one(cities), filler))
	k.put("web/"+project, fmt.Sprintf("%s keeps its database in %s, says a page.", project, k.one(stores)), func(d *recall.Document) { d.Trust = frontmatter.External })
	k.put("ideas/"+project, "Where data is kept matters less than how it is backed up.")
	k.asked("Where does "+project+" keep its database?", "fact", slug)
	k.asked("where are the servers of "+strings.ToLower(project)+" standing", "fact", slug)
	k.asked("Where does "+k.mistyped(project)+" keep its databse?", "typo", slug)
	below := k.put("projects/"+project+"/budget", "Forty thousand for a year; half of it is spent on machines.")
	k.asked("How large is the budget of "+project+"?", "slug", below)
	task, does := k.one(tasks), k.one(doings)
	plan := k.put("plans/"+project, fmt.Sprintf("The %s of %s is %sd by [[mem/people/%s]].", task, project, does, strings.ToLower(person)))
	k.asked(fmt.Sprintf("Who %ss the %s of %s?", does, task, project), "link", plan, "mem/people/"+strings.ToLower(person))
}

// updates: what held once, what holds now, and a status that is told again and
// again.
func (k *maker) updates(project string) {
	lower, old, now := strings.ToLower(project), k.rnd.IntN(len(colours)), 0
	if now = k.rnd.IntN(len(colours) - 1); now >= old {
		now++
	}
	k.put("old/"+project, fmt.Sprintf("---\nstate: superseded\n---\nThe logo of %s is %s.", project, colours[old]))
	slug := k.put("logo/"+project, fmt.Sprintf("---\nsupersedes: mem/old/%s\n---\nThe logo of %s is %s now.", lower, project, colours[now]))
	k.asked("What colour is the logo of "+project+"?", "update", slug)
	status := ""
	for i := range 3 {
		status = k.put(fmt.Sprintf("status/%s/%d", project, i), fmt.Sprintf("Status of %s: on track.", project))
		k.at = k.at.AddDate(0, 0, 20)
	}
	k.asked("What is the status of "+project+"?", "newest", status)
	k.at = k.at.AddDate(0, 0, -60)
	matters := k.put("hint/"+project+"/2", "Passphrases for "+project+" rotate quarterly.", func(d *recall.Document) { d.Salience = 0.9 })
	k.put("hint/"+project+"/1", "Passphrases for "+project+" rotate quarterly.", func(d *recall.Document) { d.Salience = 0.2 })
	k.asked("How often do passphrases for "+project+" rotate?", "salience", matters)
}

// episodes of one session: chatter, a question with its answer, and something
// that happened on a day.
func (k *maker) episodes(i int, project, person string) {
	day := time.Date(2025, time.Month(1+i%12), 1+k.rnd.IntN(28), 9, 0, 0, 0, time.UTC).AddDate(i/12%2, 0, 0)
	failure, n := k.one(failures), 0
	turn := func(who, text string) string {
		n++
		return k.put(fmt.Sprintf("journal/s%04d-%02d", i, n), text, func(d *recall.Document) {
			d.Type, d.Who, d.Session = frontmatter.Episodic, []string{who}, fmt.Sprintf("s%04d", i)
			d.When, d.Created = day, day.Add(time.Duration(n)*time.Minute)
		})
	}
	turn(person, k.one(chatter))
	turn("Robin", "What went wrong with "+project+" last night?")
	answer := turn(person, "We found out: "+failure+".")
	turn("Robin", k.one(chatter))
	trip := turn(person, fmt.Sprintf("I went to %s for the weekend and swam in the river.", k.one(cities)))
	turn("Robin", k.one(chatter))
	k.asked("What went wrong with "+project+"?", "answer", answer)
	k.asked("When did "+person+" go swimming?", "inflected", trip)
	k.asked(fmt.Sprintf("What happened to %s in %s?", project, day.Format("January 2006")), "date", answer)
}

// people and what they like.
func (k *maker) people(project, person string) {
	hobby, food := k.one(hobbies), k.one(foods)
	slug := k.put("people/"+person, fmt.Sprintf("Met at the fair. Their hobby is %s; %s is what they would choose for dinner.", hobby, food))
	k.asked("Which hobby does "+person+" have?", "person", slug)
	k.asked("what would "+strings.ToLower(person)+" be choosing for dinners", "person", slug)
	k.put("notes/"+project, fmt.Sprintf("People who work on %s talk of %s and %s a lot.", project, k.one(hobbies), k.one(foods)))
}
