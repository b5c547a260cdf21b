package daemon

import (
	"context"
	"crypto/cipher"
	"crypto/rand"
	"encoding/base64"
	"encoding/binary"

	"golang.org/x/crypto/chacha20poly1305"

	"engramd/internal/relay/cluster"
	"engramd/internal/relay/config"
	relayhttp "engramd/internal/relay/http"
	"engramd/internal/relay/keys"
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

// sessions name by tokens up to where a node has executed the log. They are sealed by the
// relay's key, which all nodes have: how much others write is nobody's business.
type sessions struct {
	node    func() *cluster.Node
	cluster cluster.ClusterID
	seal    cipher.AEAD
}

// sessions are under the relay's key, nil if nobody asks for them.
func (m *member) sessions(cfg *config.Config, k keys.Key) (relayhttp.Sessions, error) {
	if !cfg.Cluster.Enabled || cfg.Cluster.Reads != "session" {
		return nil, nil
	}
	secret, err := k.Derive("session")
	if err != nil {
		return nil, err
	}
	return newSessions(secret, m.me.Cluster, m.node.Load)
}

func newSessions(secret []byte, id cluster.ClusterID, node func() *cluster.Node) (*sessions, error) {
	seal, err := chacha20poly1305.NewX(secret)
	return &sessions{node, id, seal}, err
}

// whose binds a token to one key, and to one log.
func (s *sessions) whose(key string) []byte { return append(s.cluster[:], key...) }

// Token implements relayhttp.Sessions.
func (s *sessions) Token(key string) string {
	nonce := make([]byte, s.seal.NonceSize(), 64)
	_, _ = rand.Read(nonce) // never fails
	return base64.RawURLEncoding.EncodeToString(s.seal.Seal(nonce, nonce, binary.BigEndian.AppendUint64(nil, cluster.Shown(s.node())), s.whose(key)))
}

// Resume implements relayhttp.Sessions.
func (s *sessions) Resume(ctx context.Context, key, token string) error {
	size := s.seal.NonceSize()
	if len(token) != base64.RawURLEncoding.EncodedLen(size+8+s.seal.Overhead()) {
		return relayhttp.ErrSession
	}
	sealed, err := base64.RawURLEncoding.Strict().DecodeString(token)
	if err != nil {
		return relayhttp.ErrSession
	}
	number, err := s.seal.Open(nil, sealed[:size], sealed[size:], s.whose(key))
	if err != nil {
		return relayhttp.ErrSession
	}
	return cluster.Reach(ctx, s.node(), binary.BigEndian.Uint64(number))
}
