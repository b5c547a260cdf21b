package config

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// The nodes of a cluster have some options in common (Option.Cluster). What
// they say is a text in the cluster's log.

// fromCluster is the origin of a value that the cluster's configuration gave.
const fromCluster = "cluster"

// boundByWord are options whose default means something else than the same
// value when somebody has set it (their help says what). The text has them only
// where somebody has.
var boundByWord = []string{"limits.author_bytes", "limits.author_events"}

// SharedText returns the options that all nodes of a cluster share as TOML, one
// line each, sorted by key. Two configurations that share all of them have the
// same text.
func SharedText(c *Config) string {
	values := map[string]string{}
	for _, o := range c.options() {
		if o.Cluster() && (c.Said(o.Key) || !slices.Contains(boundByWord, o.Key)) {
			values[o.Key] = o.value.literal()
		}
	}
	var b strings.Builder
	for _, key := range slices.Sorted(maps.Keys(values)) {
		fmt.Fprintf(&b, "%s = %s\n", key, values[key])
	}
	return b.String()
}

// OwnText returns in the same form what somebody has set of the options that are each
// node's own, without where its data is and how it finds the others.
func OwnText(c *Config) string {
	var b strings.Builder
	for _, o := range c.options() {
		if c.Said(o.Key) && !o.Cluster() && o.section() != "cluster" && o.Key != "data" {
			fmt.Fprintf(&b, "%s = %s\n", o.Key, o.value.literal())
		}
	}
	return b.String()
}

// SharedDiff returns the keys in which a configuration differs from what a text
// of SharedText says, in the order of declaration. An option that the text does
// not name has its default. All keys differ from a text that cannot be read; a
// key that is not known here, because a later version wrote it, differs too.
func SharedDiff(c *Config, text string) (keys []string) {
	said, err := WithShared(Default(), text)
	if unknown := new(unknownShared); errors.As(err, &unknown) {
		return unknown.keys
	}
	var theirs []*Option
	if err == nil {
		theirs = said.options()
	}
	for i, o := range c.options() {
		if !o.Cluster() {
			continue
		}
		bound := slices.Contains(boundByWord, o.Key)
		if err != nil || o.value.literal() != theirs[i].value.literal() || bound && c.Said(o.Key) != said.Said(o.Key) {
			keys = append(keys, o.Key)
		}
	}
	return keys
}

// WithShared returns a copy of a configuration in which the options that all
// nodes share are what a text of SharedText says, and their defaults where it
// says nothing. It is an error if the text says anything else.
func WithShared(c *Config, text string) (*Config, error) {
	said := Default()
	opts := said.options()
	if errs := said.setFile(opts, "the cluster's configuration", text); len(errs) > 0 {
		if keys := unknownKeys(opts, text); len(keys) > 0 {
			errs = append(errs, &unknownShared{keys})
		}
		return nil, errors.Join(errs...)
	}
	out, own := Default(), c.options()
	for i, o := range out.options() {
		from, origins := own[i], c.origins
		if o.Cluster() {
			from, origins = opts[i], said.origins
		} else if said.Said(o.Key) {
			return nil, fmt.Errorf("the cluster's configuration: %s is not an option that nodes share", o.Key)
		}
		o.value.copyFrom(from.value)
		if at, ok := origins[o.Key]; ok {
			out.origins[o.Key] = at
			if o.Cluster() {
				out.origins[o.Key] = fromCluster
			}
		}
	}
	return out, errors.Join(out.check()...)
}

// unknownShared is an error of a text with options that this version does not
// have.
type unknownShared struct{ keys []string }

func (u *unknownShared) Error() string {
	return "options of another version: " + strings.Join(u.keys, ", ")
}

// unknownKeys returns the keys of a text of SharedText that are no options.
func unknownKeys(opts []*Option, text string) (keys []string) {
	for line := range strings.Lines(text) {
		key, _, ok := strings.Cut(line, " = ")
		if ok && !slices.ContainsFunc(opts, func(o *Option) bool { return o.Key == key }) {
			keys = append(keys, key)
		}
	}
	return keys
}
