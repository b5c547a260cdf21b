package client

import (
	"testing"
	"time"

	"engramd/internal/client/clienttest"
)

// TestAStallEndsNoConnection: a machine that is too busy to write a CLOSE for a
// moment keeps the connection, for the questions that come next.
func TestAStallEndsNoConnection(t *testing.T) {
	url := clienttest.Start(t, &clienttest.Fake{Serve: func(c *clienttest.Conn) { c.Drain() }})
	c := clientFor(t, who(t, "agent"), []string{url}, nil)
	conn, err := c.Connect(t.Context(), TargetsOf([]string{url})[0])
	if err != nil {
		t.Fatal(err)
	}
	q := conn.Question()
	defer q.Leave()
	conn.writing <- struct{}{} // another write holds the token
	timer := time.AfterFunc(300*time.Millisecond, func() { <-conn.writing })
	defer timer.Stop()
	q.Unsubscribe()
	if err := conn.ended(); err != nil {
		t.Errorf("the connection ended: %v", err)
	}
}
