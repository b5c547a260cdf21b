// Package session is the running agent: the memory of one pair at its relays, the
// copy of it on this machine, the state that no relay has, the log of what is
// written, and the place where the agent works.
//
// Commands, the MCP server and hooks are faces of a Session. It knows no command
// line, no protocol of a face, and prints nothing: what a person is to be told goes
// to Options.Note.
//
// # Invariants
//
// The client returns what it wrote, and the Session applies that to the local copy
// (Memory). That is after the write was read back at the relays: a process that is
// killed in between, or out of time, leaves the copy to the next catch-up. What is
// kept on this machine may fail: a write and an answer of the relays never depend on
// it. Limits that say how long another process or this
// machine's disk is waited for are stretched by Options.Slack.
package session

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"sync/atomic"
	"time"

	"engramd/internal/client"
	"engramd/internal/client/memory"
	"engramd/internal/memory/consolidation"
)

// Options say who the agent is, and what its session may use.
type Options struct {
	Identity client.Identity
	// Client says which relays are asked, and how. The Session sets its Links.
	Client client.Options
	// Owner names the pair if the identity is the agent's, Agent if it is the
	// owner's, in 64 hex digits. Without both the session has no memory.
	Owner, Agent string
	// NoDiscovery leaves out the agent's own list of relays. Discovers says that a
	// person chose how the list is used.
	NoDiscovery, Discovers bool
	// All has every relay waited for.
	All bool
	// Timeout bounds an operation. Slack is added to what this machine is given.
	Timeout, Slack time.Duration
	// Bound begins what Timeout bounds, and may show that it takes time.
	Bound func(ctx context.Context) (context.Context, context.CancelFunc)
	// Progress is told how much of a catching up is done; nil is told nothing.
	Progress func(done, of int)
	// Cache is the folder of local copies, or why there is none. State is that of
	// states. NoDisk keeps neither.
	Cache  func() (string, error)
	State  string
	NoDisk bool
	// Folder is where the agent works; "" is not known.
	Folder string
	// Source is stamped into what a session writes by itself.
	Source string
	// Harness is the id that the harness gave this session, "" for none.
	Harness string
	// Ancestors returns the ids of the processes above this one, the nearest first,
	// and which of them is the harness, "" if none is known.
	Ancestors func() (ids []string, harness string)
	// Dream says when a dream is offered.
	Dream consolidation.DreamWhen
	// Report tells what became of the relays, and returns the error to end with.
	Report func(s client.Status, err error) error
	// Note tells the person something; Detail is Note where details are wanted, and
	// nil elsewhere.
	Note, Detail func(line string)
	// Log is a server's; nil has warnings told by Note.
	Log *slog.Logger
}

// Session is one use of a pair's memory on this machine.
type Session struct {
	Client  *client.Client
	Memory  *Memory // nil: no pair
	Copies  *Copies
	Log     *WriteLog
	Outbox  *Outbox
	Models  Models
	Place   Place
	o       Options
	live    *Live // nil: it does not serve
	known   *known
	settler *settler
	held    atomic.Bool // another process kept a file of this pair's for as long as one waited: see patiently
}

// Open returns a Session, which asks no relay yet. The error is that of the pair's
// keys. Close it at the end.
func Open(o Options) (*Session, error) {
	s := &Session{o: o}
	s.Log = &WriteLog{s: s}
	s.Copies = &Copies{s: s}
	s.Outbox = &Outbox{s: s}
	s.Place = Place{s: s}
	s.known = &known{s: s}
	s.settler = &settler{known: s.known}
	o.Client.Links, o.Client.Known = s.Log.Of, s.knownOf
	s.Client = client.New(o.Identity, o.Client)
	if o.Owner == "" && o.Agent == "" {
		return s, nil
	}
	m, err := memoryOf(s.Client, o)
	if err != nil {
		s.Client.Close()
		return nil, err
	}
	s.Memory = &Memory{Memory: m, s: s}
	return s, nil
}

func memoryOf(c *client.Client, o Options) (*memory.Memory, error) {
	if o.Agent != "" {
		return memory.AsOwner(c, o.Agent)
	}
	return memory.AsAgent(c, o.Owner)
}

// Close ends the connections, and the use of the log.
func (s *Session) Close() {
	s.Client.Close()
	s.Log.Close()
	s.known.close()
	s.Outbox.close()
	if s.Copies.heard != nil {
		_ = s.Copies.heard.Leave()
	}
}

// Discover has the agent's own relays (NIP-65) asked too, if it has a list and
// nothing says not to look.
func (s *Session) Discover(ctx context.Context) error {
	return s.DiscoverFor(ctx, s.Memory.Agent())
}

// DiscoverFor is Discover for a session without a pair.
func (s *Session) DiscoverFor(ctx context.Context, agent string) error {
	if s.o.NoDiscovery {
		return nil
	}
	if err := s.Client.Discover(ctx, agent); err != nil {
		return err
	}
	if left := s.Client.LeftOut(); len(left) > 0 && !s.o.Discovers {
		s.note("the agent's own list of relays (NIP-65) does not name %s: clients that go by the list find nothing that is only there (discovery in a profile says that this is meant; engramctl relays set writes the list)",
			strings.Join(left, " and "))
	}
	return nil
}

// Discovery returns what finds the agent's own relays within Options.Timeout; nil
// if they are not looked for.
func (s *Session) Discovery() func(context.Context) error {
	if s.o.NoDiscovery {
		return nil
	}
	return func(ctx context.Context) error {
		ctx, cancel := context.WithTimeout(ctx, s.o.Timeout)
		defer cancel()
		return s.Discover(ctx)
	}
}

// Keeps reports whether a state is kept: a pair's whose key is the agent's.
func (s *Session) Keeps() bool { return !s.o.NoDisk && s.Memory.Writable() }

// allow returns how long something may take that has so much time.
func (s *Session) allow(d time.Duration) time.Duration { return d + s.o.Slack }

// heldAgain is how long a file is waited for that another process has kept before.
const heldAgain = 100 * time.Millisecond

// patiently bounds the opening of a file of the pair's that another process may hold, to a
// share of the time that is left: what relays say must have the rest. It is waited for
// once: opened notes whether that was in vain.
func patiently(ctx context.Context, s *Session, share float64) (soon context.Context, opened func(error)) {
	limit := client.Left(ctx, share)
	if s.held.Load() {
		limit = min(limit, heldAgain)
	}
	soon, done := context.WithTimeout(ctx, limit)
	return soon, func(err error) {
		s.held.Store(err != nil && soon.Err() != nil)
		done()
	}
}

// note tells the person something.
func (s *Session) note(format string, args ...any) { s.o.Note(fmt.Sprintf(format, args...)) }

// detail tells what only matters to a person who looks for a fault.
func (s *Session) detail(format string, args ...any) {
	if s.o.Detail != nil {
		s.o.Detail(fmt.Sprintf(format, args...))
	}
}

// warn tells of something that is no error: a server's log, or the person.
func (s *Session) warn(format string, args ...any) { s.Warn(fmt.Sprintf(format, args...)) }

// Warn tells of a line as the session does: in a server's log, or to the person.
func (s *Session) Warn(line string) {
	if s.o.Log != nil {
		s.o.Log.Warn(line)
		return
	}
	s.o.Note(line)
}
