// Package measure says how well recall finds: sets of memories with questions
// and what answers them, and figures over them. It reads sets in LoCoMo's form
// and makes one of its own; engram-load prints what it finds, and a test of
// internal/memory/recall holds the recipe to it.
package measure

import (
	"time"

	"engramd/internal/memory/recall"
)

// Set is what is measured: memories that have nothing to do with each other, as
// those of several agents have not.
type Set struct {
	Name     string
	Memories []Memory
	Talk     []string // that may stand before a question, shortest first
	// Strict says that no weight may cost anything here.
	Strict bool
}

// Memory is one agent's.
type Memory struct {
	Name      string
	Documents []recall.Document
	Questions []Question
	Now       time.Time // when the questions are asked
}

// Question is asked of a memory.
type Question struct {
	Text     string
	Kind     string
	Evidence []string // slugs, each once; empty if nothing answers it
	// Relevant may rightly come beside the evidence, and Outdated only if it is said
	// to be superseded.
	Relevant, Outdated []string
}

// Size returns how many documents and how many questions with evidence there
// are.
func (s *Set) Size() (documents, questions int) {
	for _, m := range s.Memories {
		documents += len(m.Documents)
		for _, q := range m.Questions {
			if len(q.Evidence) > 0 {
				questions++
			}
		}
	}
	return documents, questions
}
