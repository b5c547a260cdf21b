package evidence

import (
	"fmt"

	"engramd/internal/client/contract"
)

// Outcome is what became of a check.
type Outcome string

// The outcomes of a check.
const (
	OK         Outcome = "ok"
	Failed     Outcome = "failed"
	NotChecked Outcome = "not checked"
)

// Check is one thing that was looked at.
type Check struct {
	Name    string  `json:"check"`
	Outcome Outcome `json:"outcome"`
	// Detail says what was found, or why nothing could be.
	Detail string `json:"detail"`
	// Problems are what failed, at most maxProblems of them.
	Problems []string `json:"problems,omitempty"`
}

// maxProblems bounds what is told of one check.
const maxProblems = 20

// fail notes a problem.
func (c *Check) fail(format string, args ...any) {
	c.Outcome = Failed
	if len(c.Problems) < maxProblems {
		c.Problems = append(c.Problems, fmt.Sprintf(format, args...))
	}
}

// Report is what is known after all checks. Its texts are of whoever signed
// them.
type Report struct {
	Contract string  `json:"contract_id"`
	Poster   string  `json:"poster_pubkey"` // hex; "" if it is not known
	Worker   string  `json:"worker_pubkey"`
	Status   string  `json:"status"` // where the signed states lead; "" if there is none
	Entries  int     `json:"entries"`
	Moves    int     `json:"moves"`
	Sealed   int     `json:"sealed"`
	Checks   []Check `json:"checks"`
	// Relay is the key that signed the order of arrival, in hex; "" for none.
	Relay string `json:"order_pubkey,omitempty"`
	// Disclosed are the sealed entries whose texts were proved.
	Disclosed []contract.Entry `json:"-"`
}

// Holds reports whether no check failed.
func (r Report) Holds() bool {
	for _, c := range r.Checks {
		if c.Outcome == Failed {
			return false
		}
	}
	return true
}
