package websocket

import "engramd/internal/relay"

// What a subscription holds in memory, in bytes: measured (footprint_test.go)
// and rounded up. A value is counted with its number, its entry in the lists of
// the subscription and in the index; its text lies beside others of its list.
const (
	holdsSubscription = 1 << 10
	holdsFilter       = 512
	holdsValue        = 112
)

// footprint returns the bytes that a subscription to filters holds.
func footprint(granted []relay.Granted) int64 {
	n := holdsSubscription
	for i := range granted {
		f := &granted[i].Filter
		if !isLive(f) {
			continue
		}
		n += holdsFilter + len(f.Kinds)*holdsValue
		for _, list := range [][]string{f.IDs, f.Authors} {
			n += listFootprint(list)
		}
		for _, list := range f.Tags {
			n += listFootprint(list)
		}
	}
	return int64(n)
}

func listFootprint(list []string) (n int) {
	for _, v := range list {
		n += holdsValue + len(v)
	}
	return n
}
