package gate

import (
	"slices"

	"github.com/nbd-wtf/go-nostr"
)

// Case is a contract of which the reader is the arbitrator that both parties
// agreed on (NIP-TEMP), as a plain value: whoever asks the gate looks it up. It
// shows the arbitrator the unsealed events that the keys of the case have
// addressed to each other, under any option, and nothing else.
type Case struct {
	Contract       string   // its id
	Poster, Worker string   // 64 lower-case hex digits
	Agreed         []string // the arbitrator and whoever else decides
}

// has reports whether a key is one of the case.
func (c *Case) has(key string) bool {
	return key == c.Poster || key == c.Worker || slices.Contains(c.Agreed, key)
}

// shows reports whether an event is part of the case: it is of the contract,
// and by a key of the case, and so are all that its p tags name.
func (c *Case) shows(e *Subject) bool {
	if e.D != c.Contract || !c.has(e.Author) {
		return false
	}
	for _, key := range e.P {
		if !c.has(key) {
			return false
		}
	}
	return true
}

// CasesAskedFor returns the contracts that a filter names, if it can matter
// whether they are cases of the reader: nil for a reader who has proved
// nothing, for a filter that names no contract memory, and where every reader
// who names a contract may read all that a case would show.
func (t *Table) CasesAskedFor(r Reader, f nostr.Filter) []string {
	if r.Empty() || t.rights[Contract]&(byD|byAnyone) != 0 {
		return nil
	}
	if !namesContractMemory(f.Kinds) {
		return nil
	}
	return f.Tags["d"]
}

// casesOf keeps the cases of contracts that are named.
func casesOf(cases []Case, named []string) []Case {
	var out []Case
	for _, c := range cases {
		if slices.Contains(named, c.Contract) {
			c.Agreed = slices.Clone(c.Agreed)
			out = append(out, c)
		}
	}
	return out
}

// allCases reports whether something is named, and cases only.
func allCases(cases []Case, named []string) bool {
	for _, d := range named {
		if !slices.ContainsFunc(cases, func(c Case) bool { return c.Contract == d }) {
			return false
		}
	}
	return len(named) > 0
}
