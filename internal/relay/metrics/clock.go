package metrics

// newClock registers the jumps of the clock, and returns what counts one.
func newClock(r registry) (jumped func()) {
	return r.counter("engramd_clock_jumps_total", "How often the clock was not what was expected by the run of the machine, or by the last start.").Inc
}

// WatchClock registers engramd_clock_confirmed, which asks at every scrape. Call it
// once.
func (m *Metrics) WatchClock(confirmed func() bool) {
	m.registry.onScrape("engramd_clock_confirmed", "1 while the clock may be gone by; else nothing is removed by age, and no deadline is decided.",
		func() int64 { return int64(oneIf(confirmed())) })
}
