package cluster_test

import (
	"os"
	"slices"
	"sync"
	"testing"
	"time"

	"engramd/internal/e2e/cluster/rig"
)

// TestMeasure prints how long a synced append takes, alone and with many in
// flight. It fails only if one is not acknowledged.
func TestMeasure(t *testing.T) {
	one, many := 200, 2000
	if os.Getenv("ENGRAMD_SOAK") != "" {
		one, many = 5000, 50000
	}
	r := rig.Start(t, nil)
	conn := create(t, unhurried(r.Client().Options()))
	appendUntil(t, conn, numbered('w', 0))
	for _, size := range []int{300, 64 << 10} {
		message := make([]byte, size)
		took := make([]time.Duration, one)
		for i := range took {
			began := time.Now()
			if o := appendOne(t, conn, message); o.err != nil {
				t.Fatal(o.err)
			}
			took[i] = time.Since(began)
		}
		slices.Sort(took)
		t.Logf("%d bytes, one after the other: p50 %v, p99 %v, max %v", size, took[one/2], took[one*99/100], took[one-1])
	}
	slots := make(chan struct{}, 64)
	var answers sync.WaitGroup
	began := time.Now()
	for i := range many {
		slots <- struct{}{}
		answers.Add(1)
		conn.Append(numbered('m', uint64(i)), func(_ uint64, err error) {
			if err != nil {
				t.Error(err)
			}
			<-slots
			answers.Done()
		})
	}
	answers.Wait()
	t.Logf("64 in flight: %.0f/s", float64(many)/time.Since(began).Seconds())
	_, last, err := conn.Bounds(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	began = time.Now()
	readTo(t, conn, 1, last)
	t.Logf("read from the beginning: %.0f/s", float64(last)/time.Since(began).Seconds())
}
