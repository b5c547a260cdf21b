package mind

import (
	"time"

	"engramd/internal/recollect"
)

// Texts gives the text that is at a slug now, and its hash; false if there is none.
type Texts func(slug string) (head, hash string, ok bool)

// CheckOptions are what operations are judged by, beside the plan.
type CheckOptions struct {
	Now             time.Time
	Source, Session string         // stamped
	View            recollect.View // what else the memory holds: whose words a text has, what is like it
}

// Check judges operations on a plan as a whole, and returns the writes that follow
// from them, what adds before what takes away. Of a plan of any kind no operation
// means no change. The error is an *OpError, and ErrChanged beneath it if a unit is
// not what the plan showed.
func Check(p Plan, ops []Op, text Texts, o CheckOptions) ([]Change, error) {
	if len(ops) == 0 {
		return nil, nil
	}
	return nil, &OpError{Index: 0, Op: ops[0].Op, Reason: "the plan takes no operations"}
}
