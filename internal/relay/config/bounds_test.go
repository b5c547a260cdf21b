package config

import (
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"
)

// TestBoundsFollowTheMemory shows the bounds of some memories. Those of 1 GiB are
// the defaults of the options that they replaced.
func TestBoundsFollowTheMemory(t *testing.T) {
	rows := []struct {
		name string
		of   func(b *Bounds) any
		want string // at 64 MiB, 256 MiB, 1 GiB and 4 GiB
	}{
		{"waiting_frames", func(b *Bounds) any { return b.WaitingFrames }, "256 256 1024 4096"},
		{"waiting_bytes", func(b *Bounds) any { return b.WaitingBytes }, "262144 262144 1048576 4194304"},
		{"waiting_bytes_per_share", func(b *Bounds) any { return b.WaitingShare }, "8388608 8388608 8388608 33554432"},
		{"waiting_bytes_total", func(b *Bounds) any { return b.WaitingTotal }, "16777216 16777216 67108864 268435456"},
		{"queue_mark", func(b *Bounds) any { return b.QueueMark }, "65536 65536 262144 1048576"},
		{"queue_bytes", func(b *Bounds) any { return b.QueueBytes }, "1048576 2097152 8388608 33554432"},
		{"queue_frames", func(b *Bounds) any { return b.QueueFrames }, "4096 4096 16384 65536"},
		{"queue_per_share", func(b *Bounds) any { return b.QueueShare }, "8388608 33554432 134217728 536870912"},
		{"queue_total", func(b *Bounds) any { return b.QueueTotal }, "33554432 134217728 536870912 2147483648"},
		{"live_bytes", func(b *Bounds) any { return b.LiveBytes }, "1048576 2097152 8388608 33554432"},
		{"live_bytes_per_share", func(b *Bounds) any { return b.LiveShare }, "2097152 8388608 33554432 134217728"},
		{"live_bytes_total", func(b *Bounds) any { return b.LiveTotal }, "8388608 33554432 134217728 536870912"},
		{"http_requests", func(b *Bounds) any { return b.HTTPRequests }, "32 64 256 1024"},
		{"http_requests_per_address", func(b *Bounds) any { return b.HTTPPerShare }, "4 8 32 128"},
		{"sync.events", func(b *Bounds) any { return b.Sync.Items }, "15625 62500 250000 1000000"},
		{"sync.replica_events", func(b *Bounds) any { return b.Sync.ReplicaItems }, "62500 250000 1000000 4000000"},
		{"sync.bytes_per_share", func(b *Bounds) any { return b.Sync.Share }, "1048576 4194304 16777216 67108864"},
		{"sync.bytes_total", func(b *Bounds) any { return b.Sync.Total }, "16777216 67108864 268435456 1073741824"},
		{"limits.frames", func(b *Bounds) any { return fmt.Sprint(b.FramesBurst, "/", b.FramesRate) }, "10000/2000 10000/2000 10000/2000 10000/2000"},
		{"limits.keys", func(b *Bounds) any { return b.Keys }, "256 256 256 256"},
		{"sync.per_connection", func(b *Bounds) any { return b.Sync.Sessions }, "2 2 2 2"},
		{"times", func(b *Bounds) any { return fmt.Sprint(b.PingEvery, b.Silence, b.Stall, b.Linger, b.Sync.Idle) },
			strings.TrimSpace(strings.Repeat("30s1m15s10s1s1m0s ", 4))},
	}
	for _, row := range rows {
		var got []string
		for _, memory := range []int64{64 << 20, 256 << 20, 1 << 30, 4 << 30} {
			b := boundsOf(memory)
			got = append(got, strings.ReplaceAll(fmt.Sprint(row.of(&b)), " ", ""))
		}
		if text := strings.Join(got, " "); text != row.want {
			t.Errorf("%s: %s, want %s", row.name, text, row.want)
		}
	}
	for memory, same := range map[int64]int64{0: 1 << 30, 1 << 20: 64 << 20, 1 << 62: 16 << 30} {
		if boundsOf(memory) != boundsOf(same) {
			t.Errorf("the bounds of %d are not those of %d", memory, same)
		}
	}
}

// TestNoBoundIsForgotten: a bound of zero would stop everything, or nothing.
func TestNoBoundIsForgotten(t *testing.T) {
	b := Default().Bounds()
	for _, v := range []reflect.Value{reflect.ValueOf(b), reflect.ValueOf(b.Sync)} {
		for i := range v.NumField() {
			if name := v.Type().Field(i).Name; v.Field(i).IsZero() && name != "Off" {
				t.Errorf("%s is zero", name)
			}
		}
	}
	if b.Connections != 10_000 || b.PerAddress != 100 || b.MessageBytes != 256<<10 || b.Subscriptions != 64 || b.DefaultLimit != 500 {
		t.Errorf("%+v", b)
	}
	if b.Silence <= 2*b.PingEvery {
		t.Error("a client that misses one ping is gone")
	}
}

// TestAMessageFits: into every bound that it passes, however little memory there
// is.
func TestAMessageFits(t *testing.T) {
	if engram := 131_072; Default().Limits.MessageBytes < engram { // 65,603 bytes in base64 and the envelope
		t.Error("an engram of the largest body does not fit")
	}
	for _, memory := range []string{"64MiB", "256MiB", "1GiB", "16GiB", "0"} {
		for _, message := range []string{"98304", "256KiB", "1MiB", "8MiB"} {
			c, err := load(t, "", nil, "--limits-memory", memory, "--limits-message-bytes", message)
			if err != nil {
				t.Fatal(err)
			}
			b, n := c.Bounds(), int64(c.Limits.MessageBytes)
			if int64(b.WaitingBytes) < n || b.WaitingShare < 8*n || b.WaitingTotal < 2*b.WaitingShare ||
				int64(b.QueueBytes) < n || b.QueueShare < int64(b.QueueBytes) || b.QueueTotal < 2*b.QueueShare || b.QueueMark > b.QueueBytes {
				t.Errorf("memory %s, message %s: %+v", memory, message, b)
			}
		}
	}
	if _, err := load(t, "", nil, "--limits-memory", "4GiB", "--limits-message-bytes", "32MiB"); err != nil {
		t.Error(err)
	}
}

// TestDefaultLimitIsWithinMaxLimit, and constants are the defaults that they replaced.
func TestDefaultLimitIsWithinMaxLimit(t *testing.T) {
	for most, want := range map[string]int{"5": 5, "499": 499, "501": 500, "5000": 500} {
		if c, err := load(t, "", nil, "--limits-max-limit", most); err != nil || c.Bounds().DefaultLimit != want {
			t.Errorf("%s: %+v, %v", most, c, err)
		}
	}
	if HandshakeTime != 10*time.Second || AuthWindow != 10*time.Minute || HTTPWindow != time.Minute || Filters != 16 || FilterValues != 2000 || EventTags != 4000 {
		t.Error("a constant is not the default that it replaced")
	}
}
