package config

import (
	"flag"
	"fmt"
	"io"
	"slices"
	"strings"
)

// Flags collects what the command line says, unchecked: Load checks it, so
// that a bad flag is reported like a bad key.
type Flags struct {
	File  string // --config
	texts map[string][]string
}

// Register defines --config and a flag for every option on fs, removed ones too.
func Register(fs *flag.FlagSet) *Flags {
	f := &Flags{texts: map[string][]string{}}
	fs.StringVar(&f.File, "config", "", "TOML configuration `FILE`")
	none := Default()
	opts := none.options()
	for _, p := range none.removed(new(Bounds)) {
		opts = append(opts, p.Option)
	}
	for _, o := range opts {
		set := func(text string) error {
			f.texts[o.Key] = append(f.texts[o.Key], text)
			return nil
		}
		if o.value.isBool() {
			fs.BoolFunc(o.Flag(), o.Help, set)
		} else {
			fs.Func(o.Flag(), o.Help, set)
		}
	}
	return f
}

// WriteHelp lists the options that are asked for, by key or section, with type,
// default and environment variable. "" asks for all.
func WriteHelp(w io.Writer, asked []string) {
	opts := slices.DeleteFunc(Options(), func(o Option) bool {
		return !slices.ContainsFunc(asked, func(a string) bool { return a == "" || a == o.Key || a == o.section() })
	})
	for _, s := range sections() {
		if !slices.ContainsFunc(opts, func(o Option) bool { return o.section() == s.name }) {
			continue
		}
		title := s.name
		if title == "" {
			title = "general"
		}
		fmt.Fprintf(w, "\n%s: %s\n", title, s.help)
		for _, o := range opts {
			if o.section() != s.name {
				continue
			}
			fmt.Fprintf(w, "  --%s  (%s; default %s; %s)\n", o.Flag(), o.Type(), o.Default(), o.Env())
			for line := range strings.SplitSeq(wrap(o.Help, 72), "\n") {
				fmt.Fprintf(w, "      %s\n", line)
			}
		}
	}
}

// wrap breaks text into lines of at most width bytes where words allow it.
func wrap(text string, width int) string {
	var b strings.Builder
	at := 0
	for i, word := range strings.Fields(text) {
		switch {
		case i == 0:
		case at+1+len(word) > width:
			b.WriteByte('\n')
			at = 0
		default:
			b.WriteByte(' ')
			at++
		}
		b.WriteString(word)
		at += len(word)
	}
	return b.String()
}
