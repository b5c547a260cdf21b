// Package websocket is the relay's websocket side: it turns the frames of many
// clients into calls of the relay, and the relay's answers and live events into
// frames, with everything that one client can make it hold or do bounded.
//
// A connection is three actors, each with its own file and type:
//
//   - the reader (reader.go) owns the socket's receiving side. It turns bytes
//     into messages, keeps the connection to its frame rate, and puts messages
//     into the inbox. It knows nothing of what they mean.
//   - effects (effects.go, request.go) takes messages out of the inbox and
//     executes them strictly in order. Consecutive EVENTs are begun without
//     waiting for one another's commit; anything else waits until they are
//     answered. It alone touches the connection's subscriptions and identity.
//   - the writer (writer.go) owns the socket's sending side. It takes frames out
//     of the outbox and writes several of them with one system call. It is a
//     role: whoever queues frames while nobody has it writes what the socket
//     takes without waiting, and only what is left gets a goroutine.
//
// Effects and the writer run only while there is something to do: an idle
// connection is one goroutine that waits for bytes. Signatures are checked in
// one pool for all connections (verify.go).
//
// Whoever computes for a connection holds one of as many permits as there are
// processors (fairness.Permits) and releases it before it waits for anything; when
// there are not enough, shares take turns. What a connection makes the relay hold
// is taken from budgets that shares divide (fairness.Budget).
//
// Live events enter at Server.deliver (live.go), find the connections they may
// concern in an index (index.go), are held against the subscriptions of each in
// their order (feed.go) and are put into outboxes; whoever delivers never waits
// for a client, nor for long for its filters (behind.go).
//
// Decisions where NIP-01 is silent:
//
//   - A REQ ends the subscription that had its id, whether or not it is then
//     refused: after CLOSED, nothing with that id is live. A COUNT or CLOSE that
//     is refused ends nothing.
//   - Whatever a client sent before it went away is still executed if it is an
//     EVENT, or the AUTH that one needs; its questions are dropped.
//   - A REQ with only search filters stays open, without live events, until it
//     is closed.
package websocket
