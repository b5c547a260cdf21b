package mcp

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"engramd/internal/memory/write"
)

const (
	// defaultTimeout is Options.Timeout when that is zero.
	defaultTimeout = 30 * time.Second
	// maxFrame is the longest accepted message, in bytes: several times the
	// largest text with every byte escaped.
	maxFrame = 4 << 20
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
	// Version is the program's version.
	Version string
	// Timeout bounds every call as a whole, with the time it waits for others;
	// default 30 s.
	Timeout time.Duration
	Clock   func() time.Time // nil means time.Now
	// Log gets calls and their outcomes, without slugs and texts; nil discards.
	Log *slog.Logger
}

// Server serves one memory, or the contracts of one agent.
type Server struct {
	o             Options
	readOnly      bool
	sdk           *sdk.Server
	memoryCalls   *limiter
	contractCalls *limiter // their relays are not discovered
	slugs         *locks
	external      *externals
	shown         shownIntentions
	notes         *write.Batch
	waiters       waiters
	arguments     map[string][]string // of each tool
	life          context.Context     // ends the calls that are under way
	end           context.CancelFunc
}

// New returns a Server. It asks the relays nothing before it is called.
func New(o Options) *Server {
	if o.Timeout <= 0 {
		o.Timeout = defaultTimeout
	}
	if o.Clock == nil {
		o.Clock = time.Now
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Version == "" {
		o.Version = "dev"
	}
	s := &Server{o: o, memoryCalls: newLimiter(nil, o.Clock), contractCalls: newLimiter(nil, o.Clock), slugs: newLocks(),
		external: newExternals(), arguments: map[string][]string{}}
	if o.Session != nil {
		s.memoryCalls.discover, s.readOnly = o.Session.Discovery(), !o.Session.Writable()
	}
	s.life, s.end = context.WithCancel(context.Background())
	s.notes = write.NewBatch(s.life, placed{s}, o.Timeout)
	options := &sdk.ServerOptions{
		Instructions: s.instructions(),
		Logger:       slog.New(warnings{o.Log.Handler()}),
		// The lists never change, and there is no log for the peer.
		Capabilities: &sdk.ServerCapabilities{Tools: &sdk.ToolCapabilities{}},
		SetCacheable: func(_ context.Context, _ sdk.Request, c *sdk.Cacheable) {
			c.TTLMs, c.CacheScope = 0, "private"
		},
	}
	memories := o.Session != nil && o.Files != FilesAlone && !s.mindAlone()
	if memories {
		options.Capabilities.Prompts, options.Capabilities.Resources = &sdk.PromptCapabilities{}, &sdk.ResourceCapabilities{}
		options.CompletionHandler = s.complete
	}
	s.sdk = sdk.NewServer(&sdk.Implementation{Name: "engram-memory", Title: "Engram memory", Version: o.Version}, options)
	s.sdk.AddReceivingMiddleware(explained, slim, aliased(s.arguments))
	if memories {
		s.addTools()
		s.addResources()
		s.addPrompts()
		if s.minds() {
			s.addWake()
		}
	}
	if o.Session != nil && o.Files != NoFiles {
		s.addFiles()
	}
	if s.minds() {
		s.addMindTools()
	}
	if o.Contracts != nil && !s.readOnly {
		s.addContractTools()
	}
	return s
}

// Run serves one peer over a stream of lines in each direction, usually stdio,
// until the peer closes its side (nil, once every call is answered), ctx ends
// (nil; calls under way are given up), or the stream breaks. It writes nothing
// but the protocol to out.
func (s *Server) Run(ctx context.Context, in io.Reader, out io.Writer) error {
	return s.serve(ctx, &sdk.IOTransport{Reader: io.NopCloser(in), Writer: openWriter{out}, MaxLineLength: maxFrame})
}

func (s *Server) serve(ctx context.Context, t sdk.Transport) error {
	defer s.end()
	stop := context.AfterFunc(ctx, s.end)
	defer stop()
	err := s.sdk.Run(ctx, &answering{Transport: t, limit: s.o.Timeout, life: s.life, clock: s.o.Clock})
	if ctx.Err() != nil && errors.Is(err, ctx.Err()) {
		return nil
	}
	return err
}

// openWriter does not close the writer: whoever opened it does.
type openWriter struct{ io.Writer }

func (openWriter) Close() error { return nil }
