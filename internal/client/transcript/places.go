package transcript

import (
	"engramd/internal/client/contract"
)

// places say when the moves and the entries of a thread came, as far as dates
// tell: a move not before the one it follows, and an entry not before what its
// author had signed when dating it. At the same time moves come first, because
// a relay that is fed with all of it takes entries by where the contract
// stands.
func places(t contract.Thread) (moves, entries []int64) {
	at := int64(0)
	for _, m := range t.Moves {
		at = max(at, m.CreatedAt)
		moves = append(moves, at)
	}
	for _, e := range t.Entries {
		at := e.CreatedAt
		for i, m := range t.Moves {
			if m.By == e.Author.PubKey && m.CreatedAt <= e.CreatedAt {
				at = max(at, moves[i])
			}
		}
		entries = append(entries, at)
	}
	return moves, entries
}
