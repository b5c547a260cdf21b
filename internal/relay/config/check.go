package config

import (
	"cmp"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"slices"
	"strings"
)

// check finds what is wrong between options, each of which is good by itself.
func (c *Config) check() []error {
	var errs []error
	if c.MetricsPprof && c.MetricsListen == "" {
		errs = append(errs, errors.New("metrics_pprof needs metrics_listen, which is empty"))
	}
	return append(errs, c.Cluster.check(c.Store.MaxBytes)...)
}

// checkServing finds what keeps the relay from being reached. A command that only
// reads the database, or asks the relay that runs, needs nothing of it.
func (c *Config) checkServing() []error {
	var errs []error
	if most := c.mostMessageBytes(); c.Limits.MessageBytes > most {
		errs = append(errs, fmt.Errorf("limits.message_bytes %d is over %d, what limits.memory %d has for one message; raise limits.memory or lower it", c.Limits.MessageBytes, most, cmp.Or(c.Limits.Memory, defaultMemory)))
	}
	if !c.LoopbackOnly() && len(c.PublicURL) == 0 {
		errs = append(errs, fmt.Errorf("listen %s is not a loopback address, so public_url must say how clients reach the relay: set it to its wss:// URL (--public-url wss://relay.example.com, ENGRAMD_PUBLIC_URL, or public_url in the file), or listen on 127.0.0.1 behind a reverse proxy", c.Listen))
	}
	if samePort(c.Listen, c.MetricsListen) {
		errs = append(errs, fmt.Errorf("metrics_listen %s is the address of listen %s: /metrics needs a port of its own", c.MetricsListen, c.Listen))
	}
	return errs
}

// samePort reports whether two listeners would want one port: of the same
// address, or one of them of all.
func samePort(a, b string) bool {
	hostA, portA, errA := net.SplitHostPort(a)
	hostB, portB, errB := net.SplitHostPort(b)
	if errA != nil || errB != nil || portA != portB || portA == "0" {
		return false
	}
	named := strings.NewReplacer("localhost", "127.0.0.1")
	return named.Replace(hostA) == named.Replace(hostB) || all(hostA) || all(hostB)
}

// all reports whether a host to listen on stands for every address.
func all(host string) bool {
	addr, err := netip.ParseAddr(host)
	return host == "" || err == nil && addr.IsUnspecified()
}

// LoopbackNames reports whether every public URL is a loopback one, so that no
// stranger comes from a loopback address.
func (c *Config) LoopbackNames() bool {
	return !slices.ContainsFunc(c.PublicURL, func(raw string) bool {
		u, err := url.Parse(raw)
		if err != nil {
			return true
		}
		return !isLoopback(u.Hostname())
	})
}

// LoopbackOnly reports whether listen names a loopback address, so that only
// this machine can connect.
func (c *Config) LoopbackOnly() bool {
	host, _, err := net.SplitHostPort(c.Listen)
	if err != nil {
		return false
	}
	return isLoopback(host)
}

// Local reports whether the relay is for this machine alone: it listens on a
// loopback address, and nobody gave it a name by which others reach it.
func (c *Config) Local() bool { return c.LoopbackOnly() && len(c.PublicURL) == 0 }

func isLoopback(host string) bool {
	if strings.EqualFold(host, "localhost") {
		return true
	}
	addr, err := netip.ParseAddr(host)
	return err == nil && addr.Unmap().IsLoopback()
}
