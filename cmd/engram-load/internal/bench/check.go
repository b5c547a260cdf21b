package bench

import (
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"

	"engramd/cmd/engram-load/internal/load"
)

// plain is what names may be: they become names of files.
var plain = regexp.MustCompile(`^[a-z0-9][a-z0-9-]*$`)

// check finds what a run would stumble over much later.
func (c *Config) check() error {
	if c.Rounds < 1 || c.Quick.Rounds < 1 || c.Quick.Largest < 1 || c.Seed < 1 {
		return errors.New("rounds, quick.rounds, quick.largest and seed must be at least 1")
	}
	if len(c.Servers) == 0 || len(c.Measures) == 0 {
		return errors.New("there must be a server and a measure")
	}
	if c.server(c.Subject) == nil {
		return fmt.Errorf("subject: no server is called %q", c.Subject)
	}
	if c.server(c.Base) == nil {
		return fmt.Errorf("base: no server is called %q", c.Base)
	}
	names := map[string]bool{}
	for i := range c.Servers {
		s := &c.Servers[i]
		if !plain.MatchString(s.Name) || names[s.Name] {
			return fmt.Errorf("server %q: its name is taken or not plain", s.Name)
		}
		names[s.Name] = true
		if err := c.checkServer(s); err != nil {
			return fmt.Errorf("server %s: %w", s.Name, err)
		}
	}
	clear(names)
	for i := range c.Measures {
		m := &c.Measures[i]
		if !plain.MatchString(m.Name) || names[m.Name] {
			return fmt.Errorf("measure %q: its name is taken or not plain", m.Name)
		}
		names[m.Name] = true
		if err := c.checkMeasure(m); err != nil {
			return fmt.Errorf("measure %s: %w", m.Name, err)
		}
	}
	for i := range c.Targets {
		if err := c.checkTarget(&c.Targets[i]); err != nil {
			return fmt.Errorf("target %q: %w", c.Targets[i].Text, err)
		}
	}
	return nil
}

func (c *Config) checkServer(s *Server) error {
	if s.Serve == "" || s.Fill == "" && s.ServeFilled == "" {
		return errors.New("serve, and fill or serve_filled, must be command lines")
	}
	for _, name := range slices.Concat(slices.Collect(maps.Keys(s.Counts)), slices.Collect(maps.Keys(s.Without))) {
		if c.Measure(name) == nil {
			return fmt.Errorf("no measure is called %q", name)
		}
	}
	return nil
}

func (c *Config) checkMeasure(m *Measure) error {
	w, err := load.Find(m.Workload)
	if err != nil {
		return err
	}
	if (w.Needs == load.NeedsCorpus) != (len(m.Sizes) > 0) {
		return fmt.Errorf("workload %s needs a relay that is %v: sizes must say so", w.Name, w.Needs)
	}
	if len(m.Sizes) > 0 && !slices.Contains(m.Sizes, m.Size) {
		return errors.New("size must be one of sizes")
	}
	if len(m.Figures) == 0 {
		return errors.New("figures must name one")
	}
	for _, f := range m.Figures {
		if f.Name == "" || f.Label == "" {
			return fmt.Errorf("figure %q needs a name and a label", f.Name)
		}
	}
	for _, s := range m.Servers {
		if c.server(s) == nil {
			return fmt.Errorf("no server is called %q", s)
		}
	}
	return nil
}

func (c *Config) checkTarget(t *Target) error {
	if (t.Min == nil) == (t.Max == nil) {
		return errors.New("there must be min or max, and not both")
	}
	if t.Figure == "" {
		return errors.New("figure is missing")
	}
	if m := c.Measure(t.Measure); m == nil || t.Size != 0 && !slices.Contains(m.Sizes, t.Size) {
		return fmt.Errorf("there is no measure %q of size %d", t.Measure, t.Size)
	}
	of := t.Of
	if of == nil {
		return nil
	}
	if of.Server != "" && c.server(of.Server) == nil {
		return fmt.Errorf("of: no server is called %q", of.Server)
	}
	if of.Measure != "" && c.Measure(of.Measure) == nil {
		return fmt.Errorf("of: no measure is called %q", of.Measure)
	}
	return nil
}
