package store

import (
	"errors"
	"fmt"
)

// ErrDamaged says that what is stored is not as it was written.
var ErrDamaged = errors.New("a stored row is damaged")

// Damaged is an event whose row is damaged.
type Damaged struct {
	Seq  int64
	ID   string // 64 lower-case hex digits; "" where the row does not tell any more
	Kind int    // as far as is known
}

// DamagedError names events that an answer lacks because their rows are damaged,
// and of which the reader may know. The rest of the answer comes with it. It is
// ErrDamaged.
type DamagedError struct {
	Events []Damaged
	// Whole says that the answer is worth nothing without them: the question was
	// about single events, by ids or by addresses.
	Whole bool
}

// Error tells how many.
func (e *DamagedError) Error() string {
	if len(e.Events) == 1 {
		return "1 damaged event is left out: " + e.Events[0].String()
	}
	return fmt.Sprintf("%d damaged events are left out, the first is %s", len(e.Events), e.Events[0])
}

// Unwrap returns ErrDamaged.
func (e *DamagedError) Unwrap() error { return ErrDamaged }

// String names the event.
func (d Damaged) String() string {
	if d.ID != "" {
		return d.ID
	}
	return fmt.Sprintf("number %d", d.Seq)
}

// PartOf is the error that an answer lacks only these, nil for any other.
func PartOf(err error) *DamagedError {
	var d *DamagedError
	if errors.As(err, &d) && !d.Whole {
		return d
	}
	return nil
}
