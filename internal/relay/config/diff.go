package config

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
