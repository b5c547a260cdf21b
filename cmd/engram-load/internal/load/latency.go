package load

import (
	"math"
	"slices"
	"time"
)

// Latency describes samples in microseconds. The percentiles are samples: all
// are kept and sorted, nothing is put into buckets.
type Latency struct {
	Min     float64 `json:"min"`
	P50     float64 `json:"p50"`
	P90     float64 `json:"p90"`
	P99     float64 `json:"p99"`
	P999    float64 `json:"p999"`
	Max     float64 `json:"max"`
	Samples int     `json:"samples"`
}

// NewLatency sorts the samples of all lists together; nil if there are none.
func NewLatency(lists ...[]time.Duration) *Latency {
	all := slices.Concat(lists...)
	if len(all) == 0 {
		return nil
	}
	slices.Sort(all)
	at := func(p float64) float64 { return micros(all[rank(p, len(all))]) }
	return &Latency{
		Min: micros(all[0]), P50: at(0.5), P90: at(0.9), P99: at(0.99), P999: at(0.999),
		Max: micros(all[len(all)-1]), Samples: len(all),
	}
}

// rank returns the place of the smallest of n sorted samples that at least the
// share p of all does not exceed (the nearest-rank percentile).
func rank(p float64, n int) int {
	return min(max(int(math.Ceil(p*float64(n)-1e-9))-1, 0), n-1)
}

func micros(d time.Duration) float64 { return float64(d) / float64(time.Microsecond) }
