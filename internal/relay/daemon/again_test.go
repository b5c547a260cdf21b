package daemon

import (
	"encoding/json"
	"testing"

	"engramd/internal/relay/cluster"
)

// Whatever is asked, a node answers with what it has read, or nothing.
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
		text := m.tellRead(question, 5)
		if text == nil {
			return
		}
		var a othersRead
		if err := json.Unmarshal(text, &a); err != nil || a.Hash != "" || a.Size != 5 || a.Removed {
			t.Errorf("%q: %s, %v", question, text, err)
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
