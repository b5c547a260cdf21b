package load

import (
	"testing"
	"time"
)

// The percentiles are those of the nearest rank, over all lists together.
func TestLatency(t *testing.T) {
	var lists [3][]time.Duration
	for i := range 1000 { // 1 to 1,000 µs, in no order
		v := i*7919%1000 + 1
		lists[i%3] = append(lists[i%3], time.Duration(v)*time.Microsecond)
	}
	got := NewLatency(lists[:]...)
	want := Latency{Min: 1, P50: 500, P90: 900, P99: 990, P999: 999, Max: 1000, Samples: 1000}
	if got == nil || *got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
	if one := NewLatency([]time.Duration{1500}); one.P50 != 1.5 || one.P999 != 1.5 || one.Min != 1.5 || one.Samples != 1 {
		t.Errorf("of one sample: %+v", one)
	}
	if two := NewLatency([]time.Duration{3000, 1000}); two.P50 != 1 || two.P90 != 3 {
		t.Errorf("of two samples: %+v", two)
	}
	if NewLatency(nil, nil) != nil {
		t.Error("there is a latency of nothing")
	}
}
