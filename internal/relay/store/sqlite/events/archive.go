package events

import (
	"time"

	"engramd/internal/relay/store/sqlite/events/ledger"
	"engramd/internal/relay/store/sqlite/events/search"
)

// archive holds the events (heads, regular ones and history) with all that
// belongs to each: tags, the numbers of keys, what it counts for its author, its
// words in the full-text index, its place in a thread. It stores and removes, and
// decides nothing: that is the writer's.
type archive struct {
	ledger.Tx
	text    search.Index
	usage   ledger.Usage
	keys    ledger.PubkeyIDs
	seq     int64 // last one given out
	known   known
	stage   stage
	chores  chores
	others  Participants
	current *Pending // being applied
}

// known is what the writer knows of tables without asking them: false means
// surely empty. They are empty on most relays most of the time, and are asked
// for every event otherwise.
type known struct {
	history, deletedIDs, deletedAddresses, vanished, quarantine, floors bool
}

// chores say when housekeeping is next to be done, in Unix seconds.
type chores struct {
	expiry int64 // the earliest NIP-40 time stored, or earlier; 0 for none
	prune  int64
}

func (c *chores) due(now int64) bool { return c.expiry != 0 && c.expiry <= now || c.prune <= now }

// wait is how long to sleep until the next chore: at least a second, at most an
// hour, because the clock may be set.
func (c *chores) wait(now int64) time.Duration {
	next := c.prune
	if c.expiry != 0 {
		next = min(next, c.expiry)
	}
	return max(time.Second, min(time.Hour, time.Duration(next-now)*time.Second))
}

// postpone puts housekeeping off after a failure.
func (c *chores) postpone(now int64) {
	if c.expiry != 0 {
		c.expiry = max(c.expiry, now+retryAfter)
	}
	c.prune = max(c.prune, now+retryAfter)
}

// expiresAt notes when an event expires.
func (a *archive) expiresAt(at int64) {
	if at != 0 && (a.chores.expiry == 0 || at < a.chores.expiry) {
		a.chores.expiry = at
	}
}

// Housekeeping takes this many rows, or contracts, in one transaction, and
// prunes by age this often.
const (
	sweepChunk = 500
	pruneEvery = int64(time.Hour / time.Second)
	retryAfter = int64(30)
)

// removed counts rows that went for good.
func (a *archive) removed(why reason, n int) {
	if why >= 0 {
		a.stage.removed[why] += n
	}
}

// noReason removes without counting: an open kind's old version, which was
// replaced.
const noReason reason = -1
