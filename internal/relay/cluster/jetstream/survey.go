package jetstream

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
)

// Survey is what can be learned of the log's servers now.
type Survey struct {
	Last    uint64 // the log's last message
	Trouble error  // the stream does not answer, or is not set up as it must be
	Servers []Server
}

// Server is one server of the log.
type Server struct {
	Name, Version string
	Leads, Keeps  bool // the stream
	Fault         error
	Known         bool          // the rest of it is
	Ahead         time.Duration // its clock, of this machine's
	Stored, Room  int64         // bytes, of how many
}

// ahead is how far a time that is read is ahead of this machine's clock just then.
type ahead time.Duration

func (a *ahead) UnmarshalJSON(text []byte) error {
	var at time.Time
	err := json.Unmarshal(text, &at)
	*a = ahead(time.Until(at))
	return err
}

// Survey asks the stream and all servers that can be asked, once.
func (c *Conn) Survey(ctx context.Context) (v Survey) {
	_, info, err := c.info(ctx)
	var names, dead []string
	leader := ""
	if err == nil {
		v.Last = info.State.LastSeq
		var lost error
		names, dead, lost = c.keepers(info.Cluster)
		if len(names) > 0 {
			leader = names[0]
		}
		err = errors.Join(c.faults(info.Config), lost)
	}
	var all []server
	var silent []error
	switch {
	case len(c.o.Monitor) > 0:
		all, silent = c.monitored(ctx)
	case c.o.SystemCredentials != "":
		var failed error
		all, failed = c.system(ctx, without(names, dead))
		err = errors.Join(err, failed)
	}
	for _, s := range all {
		v.Servers = append(v.Servers, Server{
			Name: s.Name, Version: s.Version, Keeps: slices.Contains(names, s.Name), Leads: s.Name == leader,
			Fault: s.fault(), Known: true, Ahead: s.Ahead, Stored: s.Stored, Room: s.Room,
		})
		names = slices.DeleteFunc(slices.Clone(names), func(name string) bool { return name == s.Name })
	}
	for _, name := range names {
		one := Server{Name: name, Keeps: true, Leads: name == leader}
		if len(c.o.Monitor) > 0 || c.o.SystemCredentials != "" || slices.Contains(dead, name) {
			one.Fault = errors.New("it does not answer")
		}
		v.Servers = append(v.Servers, one)
	}
	if len(silent) > len(names) {
		err = errors.Join(append(silent, err)...)
	}
	slices.SortFunc(v.Servers, func(a, b Server) int { return strings.Compare(a.Name, b.Name) })
	v.Trouble = err
	return v
}

// HalfFull reports whether the log has half of the room that the stream, or a server
// that keeps it, has for it.
func (c *Conn) HalfFull(ctx context.Context) bool {
	_, info, err := c.info(ctx)
	if err != nil {
		return false
	}
	room := info.Config.MaxBytes
	for _, s := range c.Survey(ctx).Servers {
		if s.Keeps && s.Room > 0 && (room <= 0 || s.Room < room) {
			room = s.Room
		}
	}
	return room > 0 && int64(info.State.Bytes) > room/2
}

const (
	gatherLimit = 2 * time.Second
	mostAnswers = 64
)

// Gather asks all nodes under a suffix (Answer), and hands fn what they say.
func (c *side) Gather(ctx context.Context, suffix string, question []byte, fn func(answer []byte)) error {
	subject, err := c.live(suffix)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, gatherLimit)
	defer cancel()
	inbox := nats.NewInbox()
	sub, err := c.nc.SubscribeSync(inbox)
	if err != nil {
		return fmt.Errorf("ask the nodes: %w", err)
	}
	defer sub.Unsubscribe() //nolint:errcheck // it fails if the connection is closed
	if err := c.nc.PublishRequest(subject, inbox, question); err != nil {
		return fmt.Errorf("ask the nodes: %w", err)
	}
	for range mostAnswers {
		m, err := sub.NextMsgWithContext(ctx)
		if err != nil {
			break // all have answered who do
		}
		fn(m.Data)
	}
	return nil
}

// Answer answers who gathers under the suffix, until stop is called.
func (c *side) Answer(suffix string, fn func(question []byte) []byte) (stop func(), err error) {
	subject, err := c.live(suffix)
	if err != nil {
		return nil, err
	}
	sub, err := c.nc.Subscribe(subject, func(m *nats.Msg) { _ = m.Respond(fn(m.Data)) })
	if err != nil {
		return nil, fmt.Errorf("subscribe: %w", err)
	}
	return func() { _ = sub.Unsubscribe() }, c.arrived()
}
