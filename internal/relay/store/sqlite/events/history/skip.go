package history

import (
	"context"
	"fmt"
	"math"
	"strconv"
	"strings"

	"engramd/internal/relay/store"
	"engramd/internal/relay/store/sqlite/engine"
)

// skip finds the number behind which the next row can be read again, where none behind
// last can: pages of a bad sector hold a range of them.
func (e *exporting) skip(ctx context.Context, last int64) (to int64, err error) {
	e.probing = true
	defer func() { e.probing = false }()
	readable := func(behind int64) bool {
		var at int64
		_, at, err = e.page(ctx, behind)
		return err == nil || at > behind
	}
	low, high := last, last // nothing behind low can be read
	for step := int64(1); ; step = 2 * min(step, math.MaxInt64/2) {
		if high = last + min(step, math.MaxInt64-last); readable(high) {
			break
		}
		if low = high; !engine.Unreadable(err) {
			return last, err
		}
		if high >= math.MaxInt64-1 {
			e.gaps = append(e.gaps, [2]int64{last + 1, math.MaxInt64})
			return last, nil
		}
	}
	for high-low > 1 {
		middle := low + (high-low)/2
		if readable(middle) {
			high = middle
		} else if low = middle; !engine.Unreadable(err) {
			return last, err
		}
	}
	e.gaps = append(e.gaps, [2]int64{last + 1, high})
	return high, nil
}

// mostGaps is how many are named.
const mostGaps = 20

// unread says what could not be read, nil if all could.
func (e *exporting) unread() error {
	if len(e.gaps) == 0 {
		return nil
	}
	var named []string
	for _, gap := range e.gaps[:min(len(e.gaps), mostGaps)] {
		to := "the last"
		if gap[1] < math.MaxInt64 {
			to = strconv.FormatInt(gap[1], 10)
		}
		named = append(named, fmt.Sprintf("%d to %s", gap[0], to))
	}
	return fmt.Errorf("%w: what came as number %s, in %d places in all", store.ErrUnreadable, strings.Join(named, ", "), len(e.gaps))
}
