package main

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"engramd/internal/config"
)

// checkCommand is `engramd check`.
type checkCommand struct {
	*Main
	cfg *config.Config
}

// ParseFlags reads the command line and the configuration.
func (c *checkCommand) ParseFlags(args []string) (err error) {
	o := newOptions("check")
	if _, err = o.parse(args, 0); err != nil {
		return err
	}
	c.cfg, err = o.load(c.Env)
	return err
}

// errDamaged makes the command exit with 1 after a report of problems.
var errDamaged = errors.New("the database is not as it should be")

// Run checks the database, beside a daemon that runs or without one, and
// prints what is wrong and what to do about it. It changes nothing.
func (c *checkCommand) Run(ctx context.Context) (err error) {
	s, err := openBeside(ctx, c.cfg)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	report, err := s.Check(ctx)
	if err != nil {
		return fmt.Errorf("the check could not be made to its end: %w", err)
	}
	fmt.Fprintf(c.Stdout, "%d events and %d superseded versions looked at\n", report.Events, report.History)
	if report.OK() {
		fmt.Fprintln(c.Stdout, "ok: integrity, indexes, gate classes, tags, heads and contract states")
		return nil
	}
	var advice []string
	for _, p := range report.Problems {
		fmt.Fprintf(c.Stdout, "%s: %s\n", p.Check, p.Detail)
		if !slices.Contains(advice, p.Advice) {
			advice = append(advice, p.Advice)
		}
	}
	for _, a := range advice {
		fmt.Fprintf(c.Stdout, "what to do: %s\n", a)
	}
	return errDamaged
}

// Close has nothing to give back.
func (c *checkCommand) Close() error { return nil }
