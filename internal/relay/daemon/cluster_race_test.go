package daemon

import (
	"io"
	"net/netip"
	"sync"
	"testing"

	"engramd/internal/relay/cluster"
	"engramd/internal/relay/config"
)

// The log changes who is blocked while the surfaces start: they learn of every
// change, and of who was blocked before.
func TestBlockedWhileStarting(t *testing.T) {
	var b blocked
	all := func(netip.Addr) bool { return true }
	var told func(netip.Addr) bool
	var both sync.WaitGroup
	both.Go(func() { b.set(all) })
	both.Go(func() { b.watch(func(match func(netip.Addr) bool) { told = match }) })
	both.Wait()
	if told == nil || !told(netip.Addr{}) {
		t.Error("who watches does not know")
	}
	b.set(nil)
	if told != nil {
		t.Error("nor of a change")
	}
}

// `engramd status` is answered while a reload replaces the configuration.
func TestReportWhileReloading(t *testing.T) {
	node, err := cluster.New(cluster.Options{ClusterID: cluster.ClusterID{1}, NodeID: cluster.NodeID{1}, Boot: 1, Log: noLog{}})
	if err != nil {
		t.Fatal(err)
	}
	c := newProcess(Options{Version: "test", Config: config.Default(), Stderr: io.Discard})
	c.member.name = "a"
	c.member.node.Store(node)
	c.member.leading.leads = node.Leads
	var both sync.WaitGroup
	both.Go(func() { c.cfg = config.Default() })
	both.Go(func() {
		if r := c.member.report(); r.Name != "a" || c.lead.aloneOnly() == nil {
			t.Errorf("%+v", r)
		}
	})
	both.Wait()
}
