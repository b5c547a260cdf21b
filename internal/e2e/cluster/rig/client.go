package rig

import (
	"engramd/internal/relay/cluster/jetstream"
)

// Client is one client's way to the servers: a proxy to each.
type Client struct {
	r       *Rig
	proxies []*Proxy
}

// Client makes a way to the servers for one client.
func (r *Rig) Client() *Client {
	r.t.Helper()
	c := &Client{r: r}
	for _, s := range r.servers {
		p := NewProxy(r.t)
		p.Target(s.at.Client)
		c.proxies = append(c.proxies, p)
	}
	r.clients = append(r.clients, c)
	return c
}

// Set sets the state of the way to one server.
func (c *Client) Set(i int, s State) { c.proxies[i].Set(s) }

// SetAll sets the state of the ways to all servers.
func (c *Client) SetAll(s State) {
	for _, p := range c.proxies {
		p.Set(s)
	}
}

// URLs are those of all servers.
func (c *Client) URLs() (all []string) {
	for i := range c.proxies {
		all = append(all, c.URL(i))
	}
	return all
}

// URL is that of one server.
func (c *Client) URL(i int) string {
	if c.r.servers[i].settings.TLS {
		return "tls://" + c.proxies[i].Addr
	}
	return "nats://" + c.proxies[i].Addr
}

// Credentials is the file with the seed of the user that nodes are.
func (c *Client) Credentials() string { return c.r.users.nodeFile }

// SystemCredentials is the same of a user of the system account.
func (c *Client) SystemCredentials() string { return c.r.users.systemFile }

// Options are how this client opens the log.
func (c *Client) Options() jetstream.Options {
	return jetstream.Options{URLs: c.URLs(), Credentials: c.Credentials(), Monitor: c.r.Monitors()}
}
