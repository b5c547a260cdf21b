package daemon

import (
	"context"

	"engramd/internal/relay/cluster"
)

// Subjects of questions how far nodes have read, and of the answers to one node.
const (
	readQuestions = "ask"
	readAnswers   = "answer."
)

// say hands bytes to who subscribes to a suffix, if they can be reached: who asks waits
// for an answer only shortly.
func (m *member) say(suffix string, data []byte) {
	if err := m.conn.Publish(context.Background(), suffix, data); err != nil {
		m.log.Debug("another node could not be asked, or answered", "err", err)
	}
}

// answer has this node answer others that ask how far it has read, and hear what they
// answer.
func (m *member) answer(node *cluster.Node) error {
	for suffix, hear := range map[string]func([]byte){
		readAnswers + m.me.Node.String(): func(answer []byte) { cluster.Hear(node, answer) },
		readQuestions: func(question []byte) {
			if to, answer := cluster.AnswerTo(node, question); answer != nil {
				m.say(readAnswers+to.String(), answer)
			}
		},
	} {
		stop, err := m.conn.Subscribe(suffix, hear)
		if err != nil {
			return err
		}
		m.end = append(m.end, stop)
	}
	return nil
}
