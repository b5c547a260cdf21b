package niptemp

import "slices"

// Status is where a contract stands between two keys.
type Status string

// The statuses of a contract. The last three are final.
const (
	Open      Status = "open"
	Accepted  Status = "accepted"
	Submitted Status = "submitted"
	Disputed  Status = "disputed"
	Completed Status = "completed"
	Cancelled Status = "cancelled"
	Expired   Status = "expired"
)

var statuses = [...]Status{Open, Accepted, Submitted, Disputed, Completed, Cancelled, Expired}

// Statuses returns all statuses, in the order of a contract's life.
func Statuses() []Status { return slices.Clone(statuses[:]) }

// Valid reports whether s is one of the seven statuses.
func (s Status) Valid() bool { return slices.Contains(statuses[:], s) }

// Final reports whether a contract stays in s for ever.
func (s Status) Final() bool { return s == Completed || s == Cancelled || s == Expired }

// role is a set of parties.
type role uint8

const (
	poster role = 1 << iota
	worker
	either = poster | worker
)

// String names a role for a refusal. A move that either may make is refused to
// neither, so only the two need names.
func (r role) String() string {
	if r == poster {
		return "the poster"
	}
	return "the worker"
}

// mover returns who may move a contract from one status to another; 0 where
// nobody may, because there is no such transition. A contract begins with an
// open, which is no move.
func mover(from, to Status) role {
	switch from {
	case Open:
		switch to {
		case Accepted:
			return worker
		case Cancelled:
			return poster
		case Expired:
			return either
		}
	case Accepted:
		switch to {
		case Submitted:
			return worker
		case Cancelled: // gives the job back
			return worker
		case Disputed, Expired:
			return either
		}
	case Submitted:
		switch to {
		case Accepted: // asks for a revision
			return poster
		case Completed:
			return poster
		case Disputed:
			return either
		}
	case Disputed:
		switch to {
		case Completed: // concedes
			return poster
		case Cancelled: // concedes
			return worker
		}
	}
	return 0
}
