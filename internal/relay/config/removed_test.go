package config

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
)

// oldest is a configuration of the last version with all options, each removed
// one at its default then.
const oldest = `
compression = true
[limits]
filters = 16
filter_values = 2000
frames_burst = 10000
frames_rate = 2000
waiting_frames = 1024
waiting_bytes = 1048576
waiting_bytes_per_share = 8388608
waiting_bytes_total = "64MiB"
queue_mark = 262144
queue_bytes = 8388608
queue_frames = 16384
queue_per_share = 134217728
queue_total = 536870912
live_bytes = 8388608
live_bytes_per_share = 33554432
live_bytes_total = 134217728
event_tags = 4000
keys = 256
http_requests = 256
http_requests_per_address = 32
events_per_key = 0
events_per_key_burst = 100
events_per_address = 500
events_per_address_burst = 20000
index_rows = 5000
index_rows_burst = 20000
default_limit = 500
[timeouts]
handshake = "10s"
write_stall = "10s"
ping = "30s"
silence = "1m15s"
[auth]
window = "10m"
http_window = "1m"
[req]
eose_hints = true
[sync]
events = 250000
replica_events = 1000000
per_connection = 2
bytes_per_share = 16777216
bytes_total = 268435456
idle = "1m"
[store]
readers = 4
max_batch = 1024
[snapshot]
gc_interval = "1h"
lock_timeout = "1m"
`

// TestAtMost83Options: a new option takes the place of another, or its issue says
// why there is one more.
func TestAtMost83Options(t *testing.T) {
	const most = 83
	if n := len(Options()); n > most {
		t.Errorf("%d options, at most %d", n, most)
	}
}

// TestAnOldConfigurationStarts, and its meaning is that of the defaults.
func TestAnOldConfigurationStarts(t *testing.T) {
	c, err := load(t, oldest, nil)
	if err != nil {
		t.Fatal(err)
	}
	if diff := Diff(Default(), c); len(diff) > 0 {
		t.Errorf("differs from the defaults: %v", diff)
	}
	var set []string
	for _, i := range c.Removed() {
		set = append(set, i.Key)
	}
	slices.Sort(set)
	var want []string
	for _, p := range Default().removed(new(Bounds)) {
		want = append(want, p.Key)
		if slices.ContainsFunc(Options(), func(o Option) bool { return o.Key == p.Key }) {
			t.Errorf("%s is an option", p.Key)
		}
	}
	slices.Sort(want)
	if !slices.Equal(set, want) || len(want) != 43 {
		t.Errorf("%d are ignored: %v\nwant %d: %v", len(set), set, len(want), want)
	}
	if got := c.Removed()[3].String(); !strings.HasPrefix(got, "limits.waiting_bytes_total = 67108864 (file /") || !strings.HasSuffix(got, "): removed option; now holds 67108864, from limits.memory") {
		t.Error(got)
	}
}

// TestRemovedOptions: what asks for less than what holds stops the relay, and no
// other command. What permits more is ignored, wherever it is set.
func TestRemovedOptions(t *testing.T) {
	for _, c := range []struct {
		name, file string
		env, args  []string
		refused    string // parts of the error, by |
		ignored    string // the last of what is ignored
	}{
		{"a stricter bound", "[limits]\nqueue_total = '64MiB'\n", nil, nil,
			"limits.queue_total = 67108864 (file |removed option|permits more: 536870912, from limits.memory|lower limits.memory, from which it follows, or remove it", ""},
		{"the memory for it", "[limits]\nqueue_total = '64MiB'\nmemory = '128MiB'\n", nil, nil, "", "limits.queue_total: 67108864, from limits.memory"},
		{"a laxer bound", "[limits]\nqueue_total = '1GiB'\n", nil, nil, "", "limits.queue_total: 536870912, from limits.memory"},
		{"no bound", "[limits]\nindex_rows = 0\nhttp_requests_per_address = 0\n", nil, nil, "", `limits.index_rows: "5000/s, burst 20000"`},
		{"a constant, variable", "", []string{"ENGRAMD_LIMITS_FILTER_VALUES=100"}, nil,
			"limits.filter_values = 100 (environment ENGRAMD_LIMITS_FILTER_VALUES)|permits more: 2000; remove it to accept that", ""},
		{"a constant, flag", "", nil, []string{"--timeouts-write-stall", "1s"}, `timeouts.write_stall = "1s" (flag --timeouts-write-stall)|"10s"`, ""},
		{"the flag goes first", "[timeouts]\nwrite_stall = '1s'\n", nil, []string{"--timeouts-write-stall", "1m"}, "", `timeouts.write_stall: "10s"`},
		{"a rate", "", nil, []string{"--limits-index-rows", "50.5"}, `limits.index_rows = "50.5/s"`, ""},
		{"what protects nothing", "[store]\nreaders = 2\n[timeouts]\nping = '5s'\n", nil, nil, "", "store.readers: 4"},
		{"no compression", "", nil, []string{"--compression=false"}, "compression = false (flag --compression)|permits more: true; remove it", ""},
		{"a smaller page", "[limits]\ndefault_limit = 100\n", nil, nil, "limits.default_limit = 100|permits more: 500|lower limits.max_limit", ""},
		{"no reconciliations", "[sync]\nserve = false\nevents = 10\n", nil, nil, "", "sync.events: 250000, from limits.memory"},
		{"a flag alone", "", nil, []string{"--req-eose-hints"}, "", "req.eose_hints: true"},
		{"a page of its own", "", nil, []string{"--limits-default-limit", "5", "--limits-max-limit", "5"}, "", "limits.default_limit: 5, from limits.max_limit"},
		{"a burst", "", nil, []string{"--limits-events-per-address", "9", "--limits-events-per-address-burst", "7"}, "",
			`limits.events_per_address_burst: limits.events_per_address = "9/s, burst 7"`},
		{"a burst of the default", "[limits]\nevents_per_address_burst = 50\n", nil, nil, "",
			`limits.events_per_address_burst: limits.events_per_address = "500/s, burst 50"`},
		{"a burst beside one", "[limits]\nevents_per_key_burst = 50\nevents_per_key = '1/s, burst 2'\n", nil, nil, "",
			`limits.events_per_key_burst: limits.events_per_key = "1/s, burst 2"`},
		{"an empty section", "[req]\n[auth]\n", nil, nil, "", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := load(t, c.file, c.env, c.args...)
			if (err != nil) != (c.refused != "") {
				t.Fatalf("%v", err)
			}
			for part := range strings.SplitSeq(c.refused, "|") {
				if err != nil && !strings.Contains(err.Error(), part) {
					t.Errorf("%v\nlacks %s", err, part)
				}
			}
			if err != nil {
				return
			}
			last := ""
			for _, i := range got.Removed() {
				if last = i.Key + ": " + i.Holds; last == c.ignored {
					return
				}
			}
			if last != c.ignored {
				t.Errorf("ignored %q, want %q", last, c.ignored)
			}
		})
	}
	for _, bad := range []string{"[limits]\nfilters = 'x'\n", "[timeouts]\nping = 5\n", "compression = 'yes'\n", "[sync]\nbytes_total = '1XiB'\n"} {
		if _, err := load(t, bad, nil); err == nil {
			t.Errorf("%q is taken", bad)
		}
	}
	if _, err := load(t, "[limits]\nfilter_value = 3\n", nil); err == nil || strings.Contains(err.Error(), "did you mean") {
		t.Errorf("a removed option is suggested: %v", err)
	}
	if _, err := Load(Sources{Env: []string{"ENGRAMD_LIMITS_FILTERS=1"}}); err != nil {
		t.Errorf("a command beside the relay: %v", err)
	}
}

// TestRemovedOptionsAreDocumented: docs/configuration.md says what became of each.
func TestRemovedOptionsAreDocumented(t *testing.T) {
	doc, err := os.ReadFile("../../../docs/configuration.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(doc), "## Removed options\n")
	section, _, _ = strings.Cut(section, "\n## ")
	for _, p := range Default().removed(new(Bounds)) {
		if !strings.Contains(section, fmt.Sprintf("`%s`", p.Key)) {
			t.Errorf("docs/configuration.md does not say what became of %s", p.Key)
		}
	}
}
