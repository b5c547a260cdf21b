package config

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
)

// check finds what is wrong between options, each of which is good by itself.
func (c *Config) check() []error {
	var errs []error
	if !c.LoopbackOnly() && len(c.PublicURL) == 0 {
		errs = append(errs, fmt.Errorf("listen %s is not a loopback address, so public_url must say how clients reach the relay: set it to its wss:// URL (--public-url wss://relay.example.com, ENGRAMD_PUBLIC_URL, or public_url in the file), or listen on 127.0.0.1 behind a reverse proxy", c.Listen))
	}
	if c.Limits.DefaultLimit > c.Limits.MaxLimit {
		errs = append(errs, fmt.Errorf("limits.default_limit %d is over limits.max_limit %d", c.Limits.DefaultLimit, c.Limits.MaxLimit))
	}
	if c.Limits.QueueBytes < c.Limits.MessageBytes {
		errs = append(errs, fmt.Errorf("limits.queue_bytes %d is under limits.message_bytes %d: one event must fit", c.Limits.QueueBytes, c.Limits.MessageBytes))
	}
	if c.Limits.QueueMark > c.Limits.QueueBytes {
		errs = append(errs, fmt.Errorf("limits.queue_mark %d is over limits.queue_bytes %d", c.Limits.QueueMark, c.Limits.QueueBytes))
	}
	if c.Timeouts.Silence <= c.Timeouts.Ping {
		errs = append(errs, fmt.Errorf("timeouts.silence %s is not over timeouts.ping %s: every idle client would be cut off", c.Timeouts.Silence, c.Timeouts.Ping))
	}
	if c.MetricsPprof && c.MetricsListen == "" {
		errs = append(errs, errors.New("metrics_pprof needs metrics_listen, which is empty"))
	}
	return errs
}

// LoopbackOnly reports whether listen names a loopback address, so that only
// this machine can connect.
func (c *Config) LoopbackOnly() bool {
	host, _, err := net.SplitHostPort(c.Listen)
	if err != nil {
		return false
	}
	if host == "localhost" {
		return true
	}
	addr, err := netip.ParseAddr(host)
	return err == nil && addr.Unmap().IsLoopback()
}
