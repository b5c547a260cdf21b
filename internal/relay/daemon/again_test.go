package daemon

import (
	"testing"

	"engramd/internal/relay/cluster"
	"engramd/internal/relay/daemon/doctor"
)

// Whatever is asked, a node tells what it has read, or nothing.
func FuzzTellRead(f *testing.F) {
	node, err := cluster.New(cluster.Options{ClusterID: cluster.ClusterID{1}, NodeID: cluster.NodeID{1}, Boot: 1, Log: noLog{}})
	if err != nil {
		f.Fatal(err)
	}
	m := &member{}
	m.node.Store(node)
	for _, question := range []string{`{"node":"0102030405060708","number":7}`, `{"node":"01020304050607080","number":7}`, `{"node":"zz02030405060708"}`, `{"number":-1}`, `[]`, ``} {
		f.Add([]byte(question))
	}
	f.Fuzz(func(t *testing.T, question []byte) {
		var v doctor.Node
		if m.tellRead(question, &v); v.Hash != "" || v.Removed {
			t.Errorf("%q: %+v", question, v)
		}
	})
}

// A node has ended for what makes it join again, or for something else.
func TestStruck(t *testing.T) {
	node, err := cluster.New(cluster.Options{ClusterID: cluster.ClusterID{1}, NodeID: cluster.NodeID{1}, Boot: 1, Log: noLog{}})
	if err != nil {
		t.Fatal(err)
	}
	m := &member{}
	if m.struck(nil) || m.struck(cluster.ErrDiffers) || !m.struck(cluster.ErrTrimmed) {
		t.Error("before there is a node")
	}
	m.node.Store(node)
	if m.struck(cluster.ErrOtherLog) {
		t.Error("it has read another log")
	}
	node.Halt(cluster.ErrStruck)
	if !m.struck(nil) {
		t.Error("it was struck out")
	}
}
