package main

import (
	"errors"
	"fmt"
	"runtime"
	"strings"
	"time"
)

// floor is what a p99 may always be, and times what of it alone it may be.
const (
	floor = 250 * time.Millisecond
	times = 10
	// mostMemory is the default of limits.memory.
	mostMemory = 1 << 30
)

// table is what the siege has shown.
type table struct {
	floor time.Duration
	idle  besieged
	rows  []row
	errs  []error
}

type row struct {
	attack
	besieged
}

func (t *table) alone(b besieged) {
	t.idle = b
	for _, s := range b.measured {
		if s.failure != nil {
			t.errs = append(t.errs, fmt.Errorf("alone: %w", s.failure))
		}
	}
	fmt.Printf("%-16s %s\n", "", strings.Join(heads, "  "))
	t.print("alone", b)
}

var heads = []string{"read a head ", "write       ", "COUNT of own", "live event  ", "POST /query ", "NIP-86 call "}

func (t *table) print(name string, b besieged) {
	fmt.Printf("%-16s", name)
	for _, s := range b.measured {
		text := fmt.Sprintf("%s/%s", short(s.p50), short(s.p99))
		if s.failed > 0 {
			text += fmt.Sprintf("!%d", s.failed)
		}
		fmt.Printf(" %-13s", text)
	}
	fmt.Printf(" disk %s/%s", short(b.disk.p50), short(b.disk.p99))
	if b.memory > 0 {
		fmt.Printf(" %4d MiB %.2f CPU %s/s", b.memory>>20, b.cpu, perSecond(b.strikes))
	}
	fmt.Println()
}

// short is a duration with two digits.
func short(d time.Duration) string {
	if d < 10*time.Millisecond {
		return d.Round(10 * time.Microsecond).String()
	}
	return d.Round(time.Millisecond).String()
}

// bounds are what the p99 of each probe may be.
func (t *table) bounds() []time.Duration {
	var all []time.Duration
	for _, s := range t.idle.measured {
		all = append(all, max(t.floor, times*s.p99))
	}
	return all
}

// beyond says what went beyond its bound.
func (t *table) beyond(a attack, b besieged) (errs []error) {
	bounds := t.bounds()
	for i, s := range b.measured {
		bound := bounds[i]
		switch {
		case s.failure != nil:
			errs = append(errs, fmt.Errorf("%s: %d of %d: %w", a.name, s.failed, s.failed+s.n, s.failure))
		case s.p99 > bound:
			errs = append(errs, fmt.Errorf("%s: %s: p99 %v, more than %v", a.name, strings.TrimSpace(heads[i]), s.p99, bound))
		}
	}
	if b.memory > mostMemory {
		errs = append(errs, fmt.Errorf("%s: %d MiB, more than %d", a.name, b.memory>>20, mostMemory>>20))
	}
	return errs
}

// verdict is what was beyond its bound.
func (t *table) verdict() error { return errors.Join(t.errs...) }

// markdown is the table for the docs.
func (t *table) markdown(o options) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d events are in the relay. 200 connections attack it in one way at a time for %v, 100 of one address and 100 of ten; beside them a client of another address does one thing after the other on six connections, "+
		"each at most every %v. Attackers, client and relay share %d cores; the attackers are a process of their own, of a lower priority than the relay and the client, as theirs would be other machines. "+
		"A cell is p50 / p99; behind them are how many of the cores the relay had, how many frames and requests of the attackers went out per second, what a durable write of 4 KiB beside the relay's data took, which a commit waits for too, and the most memory that the relay had for itself. "+
		"A p99 may be the larger of %d times what it is alone and %v.\n\n", o.events, o.each, pace, runtime.NumCPU(), times, t.floor)
	b.WriteString("| attack |")
	for _, h := range heads {
		b.WriteString(" " + strings.TrimSpace(h) + " |")
	}
	b.WriteString(" relay's cores | attack/s | disk | memory |\n|---|" + strings.Repeat("--:|", len(heads)+4) + "\n")
	line := func(name string, m measured, rest string) {
		fmt.Fprintf(&b, "| %s |", name)
		for i, s := range m {
			cell := both(s)
			if s.failed > 0 || s.p99 > max(t.floor, times*t.idle.measured[i].p99) {
				cell = "**" + cell + "**"
			}
			if s.failed > 0 {
				cell += fmt.Sprintf(" (%d failed)", s.failed)
			}
			b.WriteString(" " + cell + " |")
		}
		fmt.Fprintf(&b, " %s |\n", rest)
	}
	line("none", t.idle.measured, fmt.Sprintf("%.2f | | %s |", t.idle.cpu, both(t.idle.disk)))
	for _, r := range t.rows {
		line(r.what, r.measured, fmt.Sprintf("%.2f | %s | %s | %d MiB", r.cpu, perSecond(r.strikes), both(r.disk), r.memory>>20))
	}
	return b.String()
}

func both(s seen) string { return short(s.p50) + " / " + short(s.p99) }
