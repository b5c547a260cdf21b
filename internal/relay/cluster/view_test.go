package cluster

import (
	"slices"
	"time"
)

// Members are all members.
func (n *Node) Members() []Member { return n.View().Members }

// Live are the members that were heard in the last 30 s.
func (n *Node) Live() []Member {
	return slices.DeleteFunc(n.Members(), func(m Member) bool { return !m.Live })
}

// Applied is up to which message everything is executed, and when the last one came.
func (n *Node) Applied() (number uint64, at time.Time) {
	v := n.View()
	return v.Applied, v.Read
}

// Configuration is the shared one, and the version.
func (n *Node) Configuration() (text string, version uint64) {
	v := n.View()
	return v.Shared, v.Version
}
