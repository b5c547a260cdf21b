package query_test

import (
	"fmt"
	"testing"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/relay/gate"
	"engramd/internal/relay/store"
	"engramd/internal/relay/store/sqlite"
	"engramd/internal/relay/store/sqlite/events/query"
	"engramd/internal/relay/store/sqlite/storetest"
)

func work(t *testing.T, s *sqlite.Store, table *gate.Table, reader gate.Reader, f nostr.Filter, count bool) float64 {
	t.Helper()
	scope, err := table.ScopeFor(reader, f)
	if err != nil {
		t.Fatal(err)
	}
	n, err := query.Work(t.Context(), s, store.Ask{Scope: scope, Filter: f}, count)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// longLists are filters of about n values, the most in whatever lists would
// make a product.
func longLists() map[string]func(n int) nostr.Filter {
	texts := func(n int) (out []string) {
		for i := range n {
			out = append(out, fmt.Sprint("text", i))
		}
		return out
	}
	hex := func(n int) (out []string) {
		for i := range n {
			out = append(out, fmt.Sprintf("%064x", i))
		}
		return out
	}
	kinds := func(n int) (out []int) { // open ones
		for i := range n {
			out = append(out, 1000+i%20_000)
		}
		return out
	}
	mixed := func(n int) []string { return append(texts(n/2), hex(n/2)...) }
	tags := func(kv ...any) nostr.TagMap {
		m := nostr.TagMap{}
		for i := 0; i < len(kv); i += 2 {
			m[kv[i].(string)] = kv[i+1].([]string)
		}
		return m
	}
	contract, open := []int{30090, 30091}, []int{1}
	return map[string]func(n int) nostr.Filter{
		"contracts":       func(n int) nostr.Filter { return nostr.Filter{Kinds: contract, Tags: tags("d", texts(n))} },
		"contracts, keys": func(n int) nostr.Filter { return nostr.Filter{Kinds: contract, Tags: tags("d", hex(n))} },
		"contracts, both": func(n int) nostr.Filter { return nostr.Filter{Kinds: contract, Tags: tags("d", mixed(n))} },
		"contracts with NUL": func(n int) nostr.Filter {
			return nostr.Filter{Kinds: contract, Tags: tags("d", append(texts(n/8), "\x00"))}
		},
		"contracts of an author": func(n int) nostr.Filter {
			return nostr.Filter{Kinds: contract, Authors: hex(1), Tags: tags("d", texts(n))}
		},
		"contracts and others": func(n int) nostr.Filter {
			return nostr.Filter{Kinds: []int{30090, 30023}, Authors: hex(1), Tags: tags("d", texts(n))}
		},
		"contracts and authors": func(n int) nostr.Filter {
			return nostr.Filter{Kinds: contract, Authors: hex(n / 2), Tags: tags("d", texts(n/2))}
		},
		"ids and contracts": func(n int) nostr.Filter {
			return nostr.Filter{Kinds: contract, IDs: hex(n / 2), Tags: tags("d", texts(n/2))}
		},
		"two lists of tags": func(n int) nostr.Filter {
			return nostr.Filter{Kinds: open, Tags: tags("t", texts(n/2), "r", texts(n/2))}
		},
		"three lists of tags": func(n int) nostr.Filter {
			return nostr.Filter{Kinds: open, Tags: tags("e", hex(n/3), "t", texts(n/3), "r", texts(n/3))}
		},
		"p of both sorts and r": func(n int) nostr.Filter {
			return nostr.Filter{Kinds: open, Tags: tags("p", mixed(n/2), "r", texts(n/2))}
		},
		"authors and kinds":       func(n int) nostr.Filter { return nostr.Filter{Kinds: kinds(n / 2), Authors: hex(n / 2)} },
		"authors and eight kinds": func(n int) nostr.Filter { return nostr.Filter{Kinds: kinds(8), Authors: hex(n - 8)} },
		"authors and t": func(n int) nostr.Filter {
			return nostr.Filter{Kinds: open, Authors: hex(60), Tags: tags("t", texts(n-60))}
		},
		"many authors and t": func(n int) nostr.Filter {
			return nostr.Filter{Kinds: open, Authors: hex(n / 2), Tags: tags("t", texts(n/2))}
		},
		"kinds and t": func(n int) nostr.Filter { return nostr.Filter{Kinds: kinds(n / 2), Tags: tags("t", texts(n/2))} },
		"ids and t":   func(n int) nostr.Filter { return nostr.Filter{IDs: hex(n / 2), Tags: tags("t", texts(n/2))} },
		"ids, authors and kinds": func(n int) nostr.Filter {
			return nostr.Filter{IDs: hex(n / 3), Authors: hex(n / 3), Kinds: kinds(n / 3)}
		},
		"own engrams of many": func(n int) nostr.Filter {
			return nostr.Filter{Kinds: []int{30174}, Authors: hex(n - 250), Tags: tags("p", hex(250))}
		},
		"own wraps": func(n int) nostr.Filter {
			return nostr.Filter{Kinds: []int{1059}, Tags: tags("p", hex(250), "t", texts(n-250))}
		},
		"ids of all classes": func(n int) nostr.Filter { return nostr.Filter{IDs: hex(n)} },
		"addresses of an agent": func(n int) nostr.Filter {
			return nostr.Filter{Kinds: []int{30174}, Authors: hex(1), Tags: tags("d", hex(n), "p", hex(1))}
		},
	}
}

// TestListsCostLinearly: four times as many values in a filter's lists take
// about four times the work, and not much at that, for a page and for counting,
// whoever asks, where nothing is stored and where every value names something.
func TestListsCostLinearly(t *testing.T) {
	if testing.Short() {
		t.Skip("one goroutine asks much")
	}
	table := storetest.MustTable(t, gate.Options{})
	var owner []string
	for i := range 256 {
		owner = append(owner, fmt.Sprintf("%064x", i))
	}
	s := storetest.MustOpen(t, func(o *sqlite.Options) { o.Table = table })
	const small, large = 497, 1988
	for name, filter := range longLists() {
		for who, reader := range map[string]gate.Reader{"nobody": gate.NewReader(), "who has 256 keys": gate.NewReader(owner...)} {
			if _, err := table.ScopeFor(reader, filter(small)); err != nil {
				continue // refused before the store is asked
			}
			for _, count := range []bool{false, true} {
				a, b := work(t, s, table, reader, filter(small), count), work(t, s, table, reader, filter(large), count)
				if b > 6*a+20_000 || b > 1_500_000 {
					t.Errorf("%s, count %v, %s: %.0f steps for %d values, %.0f for %d", name, count, who, a, small, b, large)
				}
			}
		}
	}
}
