package rig

import (
	"strings"

	"engramd/internal/e2e/relaytest"
)

// NodeOptions are how a node is started.
type NodeOptions struct {
	Data string   // data folder; empty: a new one
	Args []string // further flags of engramd serve
	Env  []string
	More string // further lines of the configuration file
}

// Node starts the built daemon (ENGRAMD_BUILT) over the log, through proxies of
// its own, which are returned with it.
func (r *Rig) Node(o NodeOptions) (*relaytest.Child, *Client) {
	r.t.Helper()
	c := r.Client()
	return relaytest.Start(r.t, relaytest.Options{Data: o.Data, Config: c.Config() + o.More, Args: o.Args, Env: o.Env}), c
}

// Config is the part of a node's configuration file that is about the log. It is
// the one place that knows the names of the options.
func (c *Client) Config() string {
	list := func(all []string) string { return `["` + strings.Join(all, `", "`) + `"]` }
	return "[cluster]\n" +
		"urls = " + list(c.URLs()) + "\n" +
		"credentials = \"" + c.Credentials() + "\"\n" +
		"monitor = " + list(c.r.Monitors()) + "\n"
}
