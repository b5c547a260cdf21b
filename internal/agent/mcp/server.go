package mcp

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"reflect"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"engramd/internal/agent/mcp/stdio"
	"engramd/internal/agent/why"
	"engramd/internal/memory/write"
)

// Options configure a Server. It needs Session or Contracts.
type Options struct {
	// Session is the running agent; nil leaves out everything about memory. Of a
	// memory that is not writable the tools that write are left out: it is an owner's,
	// who only reads.
	Session Session
	// Files offers the memory as files too, or only so.
	Files Files
	// Mind offers the tools for consolidation and what goes with it beside; nil, and
	// a memory that is not writable, leaves them out.
	Mind *Mind
	// Contracts is contract memory, for the contract tools; nil, and a memory that is
	// not writable, leaves them out.
	Contracts Contracts
	// Why says what a session was told unasked: session.Live.Why. nil leaves that out.
	Why func(ctx context.Context, session string, prompt *int64) (why.Answer, error)
	// Each lists every tool by itself, and with all arguments.
	Each bool
	// Kept reports whether what is replaced is kept as a version: then the tools that
	// replace something are not called destructive. nil: it is not known. It may wait for
	// the answer for a moment.
	Kept func(ctx context.Context) bool
	// Version is the program's version.
	Version string
	// Timeout bounds every call as a whole, with the time it waits for others.
	Timeout time.Duration
	Clock   func() time.Time // nil means time.Now
	// Log gets calls and their outcomes, without slugs and texts.
	Log *slog.Logger
}

// Server serves one memory, or the contracts of one agent.
type Server struct {
	o         Options
	sdk       *sdk.Server
	calls     *calls
	memories  *memories               // nil: no memory is served
	inputs    map[string]reflect.Type // of each tool
	replacing map[string]bool         // the tools that replace something
}

// memories is what the tools for a memory share.
type memories struct {
	calls    *calls
	session  Session
	mind     *Mind
	files    Files
	readOnly bool
	clock    func() time.Time
	external *externals
	shown    shownIntentions
	notes    *write.Batch
	waiters  waiters
}

// New returns a Server. It asks the relays nothing before it is called.
func New(o Options) *Server {
	if o.Clock == nil {
		o.Clock = time.Now
	}
	c := &calls{timeout: o.Timeout, log: o.Log, memory: newLimiter(nil, o.Clock), contracts: newLimiter(nil, o.Clock), slugs: newLocks()}
	c.life, c.end = context.WithCancel(context.Background())
	c.doubt = c.memory.doubt
	s := &Server{o: o, calls: c, inputs: map[string]reflect.Type{}, replacing: map[string]bool{}}
	if o.Session != nil {
		c.memory.discover, c.wrote, c.readOnly = o.Session.Discovery(), o.Session.Wrote, !o.Session.Writable()
		s.memories = &memories{calls: c, session: o.Session, mind: o.Mind, files: o.Files, readOnly: c.readOnly, clock: o.Clock, external: newExternals()}
		s.memories.notes = write.NewBatch(c.life, placed{s.memories}, o.Timeout)
	}
	options := &sdk.ServerOptions{
		Instructions: s.instructions(),
		Logger:       slog.New(warnings{o.Log.Handler()}),
		// The lists never change, and there is no log for the peer.
		Capabilities: &sdk.ServerCapabilities{Tools: &sdk.ToolCapabilities{}},
		SetCacheable: func(_ context.Context, _ sdk.Request, c *sdk.Cacheable) {
			c.TTLMs, c.CacheScope = 0, "private"
		},
	}
	tools := s.memories != nil && o.Files != FilesAlone && !s.memories.mindAlone()
	if tools {
		options.Capabilities.Prompts, options.Capabilities.Resources = &sdk.PromptCapabilities{}, &sdk.ResourceCapabilities{}
		options.CompletionHandler = (&resources{s.memories}).complete
	}
	s.sdk = sdk.NewServer(&sdk.Implementation{Name: "engram-memory", Title: "Engram memory", Version: o.Version}, options)
	s.sdk.AddReceivingMiddleware(explained, s.slim, s.routed, aliased(s.inputs))
	if tools {
		s.addTools()
		s.addResources()
		s.addPrompts()
	}
	if s.memories != nil && o.Files != NoFiles {
		s.addFiles()
	}
	if s.memories != nil && s.memories.minds() {
		s.addMindTools()
	}
	s.addStanding()
	if o.Contracts != nil && !c.readOnly {
		s.addContractTools()
	}
	return s
}

// Run serves one peer over a stream of lines in each direction, usually stdio,
// until the peer closes its side (nil, once every call is answered, or after
// stdio.LastAnswers), ctx ends (nil; calls under way are given up), or the stream breaks. It
// writes nothing but the protocol to out.
func (s *Server) Run(ctx context.Context, in io.Reader, out io.Writer) error {
	return s.serve(ctx, &stdio.Transport{In: in, Out: out, Long: CodeTooLarge})
}

func (s *Server) serve(ctx context.Context, t sdk.Transport) error {
	defer s.calls.end()
	stop := context.AfterFunc(ctx, s.calls.end)
	defer stop()
	err := s.run(ctx, &stdio.Answering{Transport: t, Limit: min(s.o.Timeout, stdio.LastAnswers), Life: s.calls.life, End: s.calls.end,
		Arrived: func() *sdk.RequestExtra { return arrived(s.o.Clock()) }})
	if ctx.Err() != nil && errors.Is(err, ctx.Err()) {
		return nil
	}
	return err
}

// lastWords is how long calls that are given up may take to end.
const lastWords = 500 * time.Millisecond

// run serves until the transport ends, and does not wait long for calls that do not.
func (s *Server) run(ctx context.Context, t sdk.Transport) error {
	ended := make(chan error, 1)
	go func() { ended <- s.sdk.Run(ctx, t) }()
	select {
	case err := <-ended:
		return err
	case <-s.calls.life.Done():
	}
	select {
	case err := <-ended:
		return err
	case <-time.After(lastWords):
		return nil
	}
}

// warnings passes on what the SDK logs at level warn and above: below that the
// SDK logs URIs, which contain slugs.
type warnings struct{ slog.Handler }

// Enabled implements slog.Handler.
func (w warnings) Enabled(ctx context.Context, level slog.Level) bool {
	return level >= slog.LevelWarn && w.Handler.Enabled(ctx, level)
}

// WithAttrs implements slog.Handler.
func (w warnings) WithAttrs(attrs []slog.Attr) slog.Handler {
	return warnings{w.Handler.WithAttrs(attrs)}
}

// WithGroup implements slog.Handler.
func (w warnings) WithGroup(name string) slog.Handler { return warnings{w.Handler.WithGroup(name)} }
