package fairness

import (
	"strings"
	"sync"
	"time"
)

// Rate allows PerSecond in the long run and Burst at once. PerSecond 0 is no
// limit.
type Rate struct {
	PerSecond float64
	Burst     int
}

// part is what one of n nodes may use of a rate: together they use no more than
// all of it, but one at once each.
func (r Rate) part(n int) Rate {
	if n <= 1 || r.PerSecond <= 0 {
		return r
	}
	return Rate{r.PerSecond / float64(n), max(r.Burst/n, 1)}
}

// Charge is what one piece of work takes of one bucket: N of the bucket that
// Name has for What (events, rows; a number of the caller's), which holds Rate.
type Charge struct {
	What uint8
	Name string
	N    int
	Rate Rate
}

// Rates are token buckets by name, a bounded number of them: what was not used
// for longest is forgotten, and begins anew with a full bucket. It is safe for
// concurrent use.
type Rates struct {
	mu      sync.Mutex
	nodes   int // that have a part of every bucket
	buckets *Recent[bucketKey, *bucket]
}

type bucketKey struct {
	what uint8
	name string
}

type bucket struct {
	rate   Rate
	tokens float64
	at     time.Time
}

// NewRates remembers up to most buckets.
func NewRates(most int) *Rates {
	return &Rates{buckets: NewRecent[bucketKey, *bucket](most)}
}

// SetPart divides every rate by the number of nodes among which the work is
// spread, from now on; buckets keep what they have left, at most their part. It
// is 1 at the start.
func (r *Rates) SetPart(nodes int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.nodes = nodes
}

// Take takes all the charges, or none: then it returns the index of the first
// that its bucket does not hold, else -1. More than a whole burst counts as a
// burst, so that no work is for ever too large. A change of a rate holds for
// what a bucket has left.
func (r *Rates) Take(now time.Time, charges ...Charge) (refused int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	var room [8]*bucket
	found := room[:0]
	for i, c := range charges {
		var b *bucket
		if c.Rate.PerSecond > 0 && c.N > 0 {
			if b = r.bucket(now, c); b.tokens < float64(min(c.N, b.rate.Burst)) {
				return i
			}
		}
		found = append(found, b)
	}
	for i, b := range found {
		if b != nil {
			b.tokens -= float64(min(charges[i].N, b.rate.Burst))
		}
	}
	return -1
}

// Give gives charges back that were taken.
func (r *Rates) Give(charges ...Charge) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, c := range charges {
		if b, ok := r.buckets.Get(bucketKey{c.What, c.Name}); ok {
			b.tokens = min(b.tokens+float64(min(c.N, b.rate.Burst)), float64(b.rate.Burst))
		}
	}
}

// bucket finds the bucket of a charge, as it is now.
func (r *Rates) bucket(now time.Time, c Charge) *bucket {
	c.Rate = c.Rate.part(r.nodes)
	if b, ok := r.buckets.Get(bucketKey{c.What, c.Name}); ok {
		if passed := now.Sub(b.at).Seconds(); passed > 0 {
			b.tokens += passed * b.rate.PerSecond
			b.at = now
		}
		b.rate = c.Rate
		b.tokens = min(b.tokens, float64(b.rate.Burst))
		return b
	}
	// A name may be part of a frame, which it would keep alive.
	b := &bucket{rate: c.Rate, tokens: float64(c.Rate.Burst), at: now}
	r.buckets.Put(bucketKey{c.What, strings.Clone(c.Name)}, b)
	return b
}
