package cluster

import "time"

// Observer is notified of what a node does. Its methods must not block.
type Observer interface {
	// AppendDone reports one append to the log, and whether it was acknowledged.
	AppendDone(took time.Duration, ok bool)
	// MessageRead reports a message: its number, what became of it ("taken",
	// "mark", or why it is void), and how far the machine's clock is ahead of the
	// log's, which includes how long the message took to come here.
	MessageRead(number uint64, became string, ahead time.Duration)
	// Executed reports up to which message everything is durable here, and how
	// long after that message.
	Executed(number uint64, lag time.Duration)
	// SentAgain reports batches that were appended again.
	SentAgain(batches int)
	// QueueAdd moves the depth of the queue "cluster" by n.
	QueueAdd(queue string, n int)
}

type nobody struct{}

func (nobody) AppendDone(time.Duration, bool)            {}
func (nobody) MessageRead(uint64, string, time.Duration) {}
func (nobody) Executed(uint64, time.Duration)            {}
func (nobody) SentAgain(int)                             {}
func (nobody) QueueAdd(string, int)                      {}
