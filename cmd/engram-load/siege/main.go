// Command siege measures what a well-behaved client gets while others do the
// worst they can: a relay with many events, 100 connections of one address and
// 100 of ten that attack it in one way after the other, and beside them a client
// that reads a head, writes, counts its own, waits for a live event, asks over
// HTTP and manages the relay. Loopback has 127.0.0.0/8, so each side has
// addresses of its own; the relay is told to treat them as any others.
//
// Attackers bring machines of their own, which there is none for here. They are a
// process of their own, of a lower priority than the relay and the client: what
// the relay wants of the processors it gets, so that neither waits for the
// attackers' arithmetic, and an attack costs the relay as much as it can. How
// much that is, is in the table: where it is near the number of processors, there
// could be no more of it.
//
// It prints a table and ends with 1 when a probe's p99 is beyond the larger of 10
// times what it is alone and 250 ms, when a probe is refused, or when the relay
// takes more memory than limits.memory.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"engramd/internal/e2e/relaytest"
)

// options are the flags.
type options struct {
	events int           // in the relay before it is attacked
	each   time.Duration // of each attack
	short  bool          // only the attacks that are marked so
	only   string        // names, separated by commas
	floor  time.Duration // what a p99 may always be
	tries  int           // of an attack, of which the best counts: the machine is not only ours
	page   string        // that the table is written to

	// Of the attackers' process.
	attackers string // the attack that it makes
	target    string
}

func main() {
	var o options
	flag.IntVar(&o.events, "events", 150_000, "events in the relay")
	flag.DurationVar(&o.each, "each", 8*time.Second, "time of each attack")
	flag.BoolVar(&o.short, "short", false, "the short form: the attacks that found most, a few seconds each")
	flag.StringVar(&o.only, "attacks", "", "only these, by name, separated by commas")
	flag.DurationVar(&o.floor, "floor", floor, "what a p99 may always be; more than the target only catches what is gross")
	flag.IntVar(&o.tries, "tries", 1, "attempts at an attack that went beyond a bound; the best one counts")
	flag.StringVar(&o.page, "page", "", "write the table to this page")
	flag.StringVar(&o.attackers, "attackers", "", "be the attackers of this attack, until standard input ends; the siege starts itself so")
	flag.StringVar(&o.target, "target", "", "the relay that these attack, as ws://HOST:PORT")
	flag.Parse()
	if o.short {
		o.each = min(o.each, 4*time.Second)
	}
	do := run
	if o.attackers != "" {
		do = func(ctx context.Context, o options) error { return attackApart(ctx, target(o.target), o.attackers) }
	}
	if err := do(context.Background(), o); err != nil {
		fmt.Fprintln(os.Stderr, "siege:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, o options) (err error) {
	attacks, err := chosen(o)
	if err != nil {
		return err
	}
	p := relaytest.NewProgram("siege")
	defer func() { err = errors.Join(err, p.Finish()) }()
	f, err := newField(p, o.events)
	if err != nil {
		return err
	}
	v, err := newVictim(f)
	if err != nil {
		return fmt.Errorf("the well-behaved client: %w", err)
	}
	defer v.close()
	t := &table{floor: o.floor}
	alone, err := look(ctx, f, v, o.each)
	if err != nil {
		return fmt.Errorf("alone: %w", err)
	}
	t.alone(alone)
	for _, a := range attacks {
		var best besieged
		for try := range max(o.tries, 1) {
			b, err := attackWith(ctx, f, v, a, o.each, t.bounds())
			if err != nil {
				return fmt.Errorf("%s: %w", a.name, err)
			}
			t.print(a.name, b)
			if try == 0 || len(t.beyond(a, b)) < len(t.beyond(a, best)) {
				best = b
			}
			if len(t.beyond(a, best)) == 0 {
				break
			}
		}
		t.rows = append(t.rows, row{a, best})
		t.errs = append(t.errs, t.beyond(a, best)...)
	}
	if o.page != "" {
		if err := os.WriteFile(o.page, []byte("# Under siege\n\n"+t.markdown(o)), 0o644); err != nil {
			return err
		}
	}
	return t.verdict()
}

// chosen are the attacks that the flags name.
func chosen(o options) ([]attack, error) {
	all := attacks()
	if o.only == "" {
		return slices.DeleteFunc(all, func(a attack) bool { return o.short && !a.short }), nil
	}
	var out []attack
	for name := range strings.SplitSeq(o.only, ",") {
		i := slices.IndexFunc(all, func(a attack) bool { return a.name == name })
		if i < 0 {
			return nil, fmt.Errorf("there is no attack %q", name)
		}
		out = append(out, all[i])
	}
	return out, nil
}

// besieged is what was seen during one attack.
type besieged struct {
	measured
	disk    seen    // a small durable write beside the relay's data
	memory  int64   // most that the relay had for itself, bytes
	cpu     float64 // processors that the relay had
	strikes float64 // frames and requests of the attackers, per second
}

// attackWith lets all attackers begin, measures, and waits until they are gone
// and the relay answers as before.
func attackWith(ctx context.Context, f *field, v *victim, a attack, each time.Duration, bounds []time.Duration) (besieged, error) {
	stop := f.relay.WatchMemory()
	attackers, err := sendOut(ctx, target(f.relay.URL), a.name)
	if err != nil {
		_, memoryErr := stop()
		return besieged{}, errors.Join(err, memoryErr)
	}
	b, err := look(ctx, f, v, each)
	strikes, recallErr := attackers.recall()
	peak, memoryErr := stop()
	b.strikes, b.memory = strikes, peak
	if err := errors.Join(err, recallErr, memoryErr, v.settle(ctx, bounds)); err != nil {
		return besieged{}, err
	}
	return b, nil
}

// look measures for so long.
func look(ctx context.Context, f *field, v *victim, long time.Duration) (b besieged, err error) {
	had, err := f.relay.CPU()
	if err != nil {
		return b, err
	}
	start := time.Now()
	var diskErr error
	var disk sync.WaitGroup
	disk.Go(func() { b.disk, diskErr = f.disk(ctx, long) })
	b.measured, err = v.measure(ctx, long)
	disk.Wait()
	has, cpuErr := f.relay.CPU()
	b.cpu = (has - had).Seconds() / time.Since(start).Seconds()
	return b, errors.Join(err, diskErr, cpuErr)
}
