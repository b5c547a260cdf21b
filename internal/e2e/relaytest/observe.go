package relaytest

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"net/http"
	"os"
	"strconv"
	"strings"
	"time"
)

// Metric returns the sum over all label sets of a metric; 0 when there is none.
func (c *Child) Metric(name string) (float64, error) {
	ctx, cancel := context.WithTimeout(context.Background(), Patience)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, c.Metrics, nil)
	if err != nil {
		return 0, err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, fmt.Errorf("metrics: %w", err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return 0, fmt.Errorf("metrics: HTTP %d", resp.StatusCode)
	}
	sum := 0.0
	lines := bufio.NewScanner(resp.Body)
	for lines.Scan() {
		rest, ok := strings.CutPrefix(lines.Text(), name)
		if !ok || rest == "" || rest[0] != ' ' && rest[0] != '{' {
			continue
		}
		n, err := strconv.ParseFloat(rest[strings.LastIndexByte(rest, ' ')+1:], 64)
		if err != nil {
			return 0, fmt.Errorf("metrics: %q: %w", lines.Text(), err)
		}
		sum += n
	}
	return sum, lines.Err()
}

// AwaitMetric waits until a metric satisfies ok and returns its value.
func (c *Child) AwaitMetric(name string, limit time.Duration, ok func(float64) bool) (float64, error) {
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	deadline := time.After(limit)
	for {
		n, err := c.Metric(name)
		if err != nil || ok(n) {
			return n, err
		}
		select {
		case <-tick.C:
		case <-deadline:
			return n, fmt.Errorf("%s is still %v after %v", name, n, limit)
		}
	}
}

// WatchMemory looks at the child's memory until stop is called, which returns
// the most that was seen, in bytes. Only what the process has for itself counts:
// pages of the mapped database are the kernel's cache, and it takes them back.
func (c *Child) WatchMemory() (stop func() (int64, error)) { return WatchProcess(c.PID()) }

// WatchProcess is WatchMemory for any process. When it ends before stop is called,
// what was seen comes with an error.
func WatchProcess(pid int) (stop func() (int64, error)) {
	end, done := make(chan struct{}), make(chan struct{})
	var peak int64
	var failed error
	go func() {
		defer close(done)
		tick := time.NewTicker(10 * time.Millisecond)
		defer tick.Stop()
		for {
			now, err := anonymousMemory(pid)
			if err != nil {
				failed = err
				return
			}
			peak = max(peak, now)
			select {
			case <-tick.C:
			case <-end:
				return
			}
		}
	}()
	return func() (int64, error) {
		close(end)
		<-done
		return peak, failed
	}
}

func anonymousMemory(pid int) (int64, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0, fmt.Errorf("memory of the child: %w", err)
	}
	for line := range strings.Lines(string(text)) {
		if rest, ok := strings.CutPrefix(line, "RssAnon:"); ok {
			kib, err := strconv.ParseInt(strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(rest), "kB")), 10, 64)
			return kib << 10, err
		}
	}
	return 0, fmt.Errorf("memory of the child: no RssAnon")
}

// CPU is the processor time that the child has had, in user and kernel mode.
func (c *Child) CPU() (time.Duration, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", c.PID()))
	if err != nil {
		return 0, fmt.Errorf("processor time of the child: %w", err)
	}
	// The name in brackets may hold anything; utime and stime are the 12th and 13th after it.
	fields := strings.Fields(string(text[bytes.LastIndexByte(text, ')')+1:]))
	if len(fields) < 13 {
		return 0, fmt.Errorf("processor time of the child: %q", text)
	}
	var ticks int64
	for _, f := range fields[11:13] {
		n, err := strconv.ParseInt(f, 10, 64)
		if err != nil {
			return 0, fmt.Errorf("processor time of the child: %w", err)
		}
		ticks += n
	}
	const perSecond = 100 // USER_HZ, whatever the kernel counts in
	return time.Duration(ticks) * time.Second / perSecond, nil
}
