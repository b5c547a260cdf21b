package recalled

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"

	"engramd/cmd/engram-load/internal/measure"
)

// talk stands before a question where a set has none of its own.
var talk = []string{
	"",
	"One more thing before lunch: ",
	"Thanks, that looked fine, and the rest can wait until next week. While you are here, could I ask you this: ",
	"Hello again, I hope you had a calm weekend. Mine was rather busy, because the neighbours moved out and half of the street came along to carry boxes. " +
		"Anyway, I am back at my desk, the kettle is on, and I would like to begin with something small before the rest of it: ",
	"Hello again, I hope you had a calm weekend. Mine was rather busy, because the neighbours moved out and half of the street came along to carry boxes. " +
		"In the evening there was soup for everyone, and the children were allowed to stay up until it was dark, which they will talk about for months. " +
		"Today I am a little slow, so bear with me if I ask twice, and do not hurry on my account. " +
		"Anyway, I am back at my desk, the kettle is on, the window is open, and I would like to begin with something small before the rest of it: ",
}

// Every leaves only every nth question of each memory.
func Every(set *measure.Set, n int) *measure.Set {
	return kept(set, func(i int, _ measure.Question) bool { return i%n == 0 })
}

// kept is a set with those of its questions for which keep reports true.
func kept(set *measure.Set, keep func(i int, q measure.Question) bool) *measure.Set {
	part := *set
	part.Memories = slices.Clone(set.Memories)
	for i := range part.Memories {
		var some []measure.Question
		for j, q := range part.Memories[i].Questions {
			if keep(j, q) {
				some = append(some, q)
			}
		}
		part.Memories[i].Questions = some
	}
	return &part
}

// Long makes a set for each length of talk before the questions of a set; those that are prompts themselves are left out, and so are those
// without an answer.
func Long(set *measure.Set) []*measure.Set {
	before := set.Talk
	if len(before) == 0 {
		before = talk
	}
	var all []*measure.Set
	for _, text := range before {
		long := kept(set, func(_ int, q measure.Question) bool { return len(q.Evidence) > 0 && q.Kind != "prompt" })
		long.Name = fmt.Sprintf("%s, %d words before", set.Name, len(strings.Fields(text)))
		for _, m := range long.Memories {
			for i := range m.Questions {
				m.Questions[i].Text = text + m.Questions[i].Text
			}
		}
		all = append(all, long)
	}
	return all
}

// draws is how many collections of each size are drawn.
const draws = 30

// Small draws collections of 1, 2, 4 and 10 memories that hold the answer to a
// question, and asks each what is answered in it. Prompts and questions in another
// language are left out.
func Small(set *measure.Set, seed uint64) []*measure.Set {
	rnd := rand.New(rand.NewPCG(seed, 110))
	m := &set.Memories[0]
	var asked []measure.Question
	for _, q := range m.Questions {
		if len(q.Evidence) > 0 && q.Kind != "prompt" && q.Kind != "foreign" {
			asked = append(asked, q)
		}
	}
	var all []*measure.Set
	for _, size := range []int{1, 2, 4, 10} {
		first := slices.DeleteFunc(slices.Clone(asked), func(q measure.Question) bool { return len(q.Evidence) > size })
		if len(first) == 0 || len(m.Documents) < size {
			continue
		}
		small := &measure.Set{Name: fmt.Sprintf("%s, collections of %d", set.Name, size)}
		for range draws {
			small.Memories = append(small.Memories, drawn(m, first[rnd.IntN(len(first))].Evidence, size, asked, rnd))
		}
		all = append(all, small)
	}
	return all
}

// drawn is a memory of the evidence and others, with the questions that are
// answered in it.
func drawn(m *measure.Memory, evidence []string, size int, asked []measure.Question, rnd *rand.Rand) measure.Memory {
	chosen := slices.Clone(evidence)
	for _, i := range rnd.Perm(len(m.Documents)) {
		if slug := m.Documents[i].Slug; len(chosen) < size && !slices.Contains(chosen, slug) {
			chosen = append(chosen, slug)
		}
	}
	one := measure.Memory{Name: m.Name, Now: m.Now}
	for _, d := range m.Documents {
		if slices.Contains(chosen, d.Slug) {
			d.Session = "drawn"
			one.Documents = append(one.Documents, d)
		}
	}
	for _, q := range asked {
		if !slices.ContainsFunc(q.Evidence, func(s string) bool { return !slices.Contains(chosen, s) }) {
			one.Questions = append(one.Questions, q)
		}
	}
	return one
}
