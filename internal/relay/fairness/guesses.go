package fairness

import "time"

// Guesses counts what each share asks for by name and is shown nothing of:
// 1,000 at once, then 200 an hour. Whoever is exempt from rates is from this
// too. A nil Guesses counts nothing.
type Guesses struct {
	rates *Rates
	clock func() time.Time
}

// How many guesses a share has, and of how many shares they are counted.
const (
	guessesAtOnce  = 1000
	guessesPerHour = 200
	guessers       = 1 << 16
)

var guessRate = Rate{PerSecond: guessesPerHour / 3600.0, Burst: guessesAtOnce}

// NewGuesses counts by a clock.
func NewGuesses(clock func() time.Time) *Guesses {
	return &Guesses{rates: NewRates(guessers), clock: clock}
}

// SetPart divides the guesses by the number of nodes (Rates.SetPart).
func (g *Guesses) SetPart(nodes int) {
	if g != nil {
		g.rates.SetPart(nodes)
	}
}

// Counts reports whether guesses of a share are counted.
func (g *Guesses) Counts(who Who) bool { return g != nil && !who.Exempt && who != (Who{}) }

// Left reports whether a share has a guess left.
func (g *Guesses) Left(who Who) bool {
	return !g.Counts(who) || g.rates.left(g.clock(), g.charge(who, 1)) >= 1
}

// Take counts n guesses, or as many as are left, and reports whether there were
// so many.
func (g *Guesses) Take(who Who, n int) bool {
	if !g.Counts(who) || n <= 0 {
		return true
	}
	return g.rates.drain(g.clock(), g.charge(who, n)) >= n
}

func (g *Guesses) charge(who Who, n int) Charge {
	return Charge{Name: who.Share, N: n, Rate: guessRate}
}

// left returns how much a bucket holds.
func (r *Rates) left(now time.Time, c Charge) float64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.bucket(now, c).tokens
}

// drain takes a charge, or the whole units that its bucket still holds, and
// returns how many.
func (r *Rates) drain(now time.Time, c Charge) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	b := r.bucket(now, c)
	n := min(c.N, int(b.tokens))
	b.tokens -= float64(n)
	return n
}
