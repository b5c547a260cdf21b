package config

import (
	"fmt"
	"io"
	"strings"
)

// WriteTOML prints the effective configuration as a file that Load reads back,
// each key with its help and where its value came from.
func (c *Config) WriteTOML(w io.Writer) error {
	return write(w, c.options(), func(o *Option) string {
		return fmt.Sprintf("from: %s", c.Origin(o.Key))
	}, "")
}

// WriteExample prints a file with every option at its default and commented
// out: docs/engramd.example.toml.
func WriteExample(w io.Writer) error {
	head := "# Every option of engramd with its default. Take out the # of what you change.\n" +
		"# A flag or an environment variable (ENGRAMD_SECTION_KEY) goes before this file.\n" +
		"# \"live\" options change with SIGHUP; the others need a restart.\n" +
		"# \"cluster\" options are the same on all nodes of a cluster.\n\n"
	if _, err := io.WriteString(w, head); err != nil {
		return err
	}
	return write(w, Default().options(), func(o *Option) string {
		note := o.Type()
		if o.Live {
			note += "; live"
		}
		if o.Cluster() {
			note += "; cluster"
		}
		return note
	}, "# ")
}

func write(w io.Writer, opts []*Option, note func(*Option) string, prefix string) error {
	var b strings.Builder
	for i, s := range sections() {
		if i > 0 {
			b.WriteByte('\n')
		}
		if s.name != "" {
			fmt.Fprintf(&b, "# %s\n[%s]\n", s.help, s.name)
		} else {
			fmt.Fprintf(&b, "# %s\n", s.help)
		}
		for _, o := range opts {
			if o.section() != s.name {
				continue
			}
			b.WriteByte('\n')
			for line := range strings.SplitSeq(wrap(o.Help, 76), "\n") {
				fmt.Fprintf(&b, "# %s\n", line)
			}
			fmt.Fprintf(&b, "# (%s)\n%s%s = %s\n", note(o), prefix, o.name(), o.value.literal())
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// Change is one option whose value differs between two configurations. Values
// are not part of it: lists hold pubkeys, which are not logged.
type Change struct {
	Key  string
	Live bool // whether it can take effect without a restart
}

// Diff lists the options whose values differ, in the order of declaration.
func Diff(old, new *Config) []Change {
	var out []Change
	was, is := old.options(), new.options()
	for i := range was {
		if was[i].value.literal() != is[i].value.literal() {
			out = append(out, Change{was[i].Key, was[i].Live})
		}
	}
	return out
}

// KeepFixed returns new with every option that cannot change live at its old
// value: what is really in force after a reload.
func KeepFixed(old, new *Config) *Config {
	kept := Default()
	was, is, out := old.options(), new.options(), kept.options()
	for i := range out {
		from, origin := is[i], new
		if !was[i].Live {
			from, origin = was[i], old
		}
		out[i].value.copyFrom(from.value)
		if at, ok := origin.origins[from.Key]; ok {
			kept.origins[from.Key] = at
		}
	}
	return kept
}
