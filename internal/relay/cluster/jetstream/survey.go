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

	Unknown  int      // servers that keep the log, of which it is not known whether they sync
	Unsynced []string // those that do not, as far as Watch knew last
	Silent   []error  // of monitoring URLs that do not answer
}

// Server is one server of the log.
type Server struct {
	Name, Version string
	Leads, Keeps  bool // the stream
	Fault         error
	Known         bool          // the rest of it is
	Loose         bool          // it acknowledges what is not on its disk
	Ahead         time.Duration // its clock, of this machine's
	Stored, Room  int64         // bytes, of how many

	gone bool
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
	info, err := c.stands(ctx)
	var names, dead []string
	if info != nil {
		v.Last = info.State.LastSeq
		var lost error
		names, dead, lost = c.keepers(info.Cluster)
		err = errors.Join(err, lost)
	}
	if failed := c.ask(ctx, &v, names, dead); failed != nil {
		err = errors.Join(err, failed)
	}
	v.Trouble = err
	v.count(&c.o, len(names))
	return v
}

// count notes of how many servers it is not known whether they sync: also of those that
// should keep the log, and are not named by the stream.
func (v *Survey) count(o *Options, named int) {
	v.Unknown = len(v.unknown(true)) + len(v.unknown(false))
	if v.Trouble != nil && o.asks() {
		v.Unknown += max(0, o.Replicas-named)
	}
}

// asks reports whether there is a way to ask the servers.
func (o *Options) asks() bool { return len(o.Monitor) > 0 || o.SystemCredentials != "" }

// ask asks all servers that can be asked, and notes which keep the stream.
func (c *setup) ask(ctx context.Context, v *Survey, names, dead []string) (err error) {
	var told []server
	switch {
	case len(c.o.Monitor) > 0:
		told, v.Silent = c.monitored(ctx)
	case c.o.SystemCredentials != "":
		told, err = c.everyone(ctx, without(names, dead))
	}
	for _, s := range told {
		v.Servers = append(v.Servers, Server{
			Name: s.Name, Version: s.Version, Keeps: slices.Contains(names, s.Name),
			Fault: s.fault(), Known: true, Loose: s.loose(), Ahead: s.Ahead, Stored: s.Stored, Room: s.Room,
		})
	}
	for _, name := range names {
		if slices.ContainsFunc(told, func(s server) bool { return s.Name == name }) {
			continue
		}
		one := Server{Name: name, Keeps: true, gone: slices.Contains(dead, name)}
		switch {
		case len(c.o.Monitor) > 0 && !one.gone && len(v.Silent) > 0:
			one.Fault = ErrUntold
		case len(c.o.Monitor) > 0 && !one.gone:
			one.Fault = ErrUnlisted
		case c.o.asks() || one.gone:
			one.Fault = errSilent
		}
		v.Servers = append(v.Servers, one)
	}
	for i := range v.Servers {
		v.Servers[i].Leads = len(names) > 0 && v.Servers[i].Name == names[0]
	}
	slices.SortFunc(v.Servers, func(a, b Server) int { return strings.Compare(a.Name, b.Name) })
	return err
}

// everyone asks the servers that keep the stream, and those in reserve that are there, as
// a user of the system account.
func (c *setup) everyone(ctx context.Context, names []string) ([]server, error) {
	if len(names) == 0 {
		return c.system(ctx, nil)
	}
	nc, err := c.asSystem(ctx)
	if err != nil {
		return nil, err
	}
	defer nc.Close()
	calling, cancel := context.WithTimeout(ctx, callLimit)
	defer cancel()
	there := map[string]varz{}
	if err := ping(calling, nc, "VARZ", nil, there); err != nil {
		return nil, err
	}
	for name := range there {
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return c.system(ctx, names)
}

var (
	// ErrUnlisted means that a server keeps the log and is heard by the others, and was
	// not found by cluster.monitor.
	ErrUnlisted = errors.New("it keeps the log, and no URL in cluster.monitor leads to it")
	// ErrUntold means the same where a URL fails that may be the server's.
	ErrUntold = errors.New("it keeps the log, and no URL in cluster.monitor that answers leads to it")
)

var errSilent = errors.New("it does not answer")

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
	callLimit   = 200 * time.Millisecond // until a server in reserve has said that it is there
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
