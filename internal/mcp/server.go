package mcp

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

const (
	// defaultTimeout is Options.Timeout when that is zero.
	defaultTimeout = 30 * time.Second
	// maxFrame is the longest message taken from the peer, in bytes: the largest
	// text with every byte escaped, several times over.
	maxFrame = 4 << 20
)

// Options are how a Server is made. Memory or Contracts is needed.
type Options struct {
	// Memory is the agent's memory; nil leaves out all that is about it.
	Memory Memory
	// Contracts is contract memory, for the contract tools; nil, or ReadOnly,
	// leaves them out.
	Contracts Contracts
	// Snapshot keeps the whole memory as it is in a file of this machine, for
	// the tool memory_snapshot; nil, or ReadOnly, leaves it out. Its errors are
	// those of client.Client.Ask, client.ErrPartial, ErrNothing and ErrInUse.
	Snapshot func(ctx context.Context, label string) (Snapshot, error)
	// ReadOnly leaves the tools out that write: for an owner, who reads.
	ReadOnly bool
	// Discover looks for the relays to ask; nil looks for none. It is called
	// before the first question and again from time to time, never while another
	// question is under way. Its error is not one of the call: the question that
	// follows has its own.
	Discover func(ctx context.Context) error
	// Version is that of the program.
	Version string
	// Timeout bounds every call as a whole, the time it waits for others
	// included; default 30 s.
	Timeout time.Duration
	Clock   func() time.Time // nil means time.Now
	// Log is told of calls and what became of them, without slugs and texts; nil
	// discards.
	Log *slog.Logger
}

// Server serves one memory, or the contracts of one agent.
type Server struct {
	o     Options
	sdk   *sdk.Server
	door  *door
	desk  *door // of contracts: their relays are not looked for
	slugs *locks
	life  context.Context // ends the calls that are under way
	end   context.CancelFunc
}

// New makes a server. It asks nothing before it is asked.
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
	s := &Server{o: o, door: newDoor(o.Discover, o.Clock), desk: newDoor(nil, o.Clock), slugs: newLocks()}
	s.life, s.end = context.WithCancel(context.Background())
	options := &sdk.ServerOptions{
		Instructions: s.instructions(),
		Logger:       slog.New(warnings{o.Log.Handler()}),
		// The lists never change, and there is no log for the peer.
		Capabilities: &sdk.ServerCapabilities{Tools: &sdk.ToolCapabilities{}},
		SetCacheable: func(_ context.Context, _ sdk.Request, c *sdk.Cacheable) {
			c.TTLMs, c.CacheScope = 0, "private"
		},
	}
	if o.Memory != nil {
		options.Capabilities.Prompts, options.Capabilities.Resources = &sdk.PromptCapabilities{}, &sdk.ResourceCapabilities{}
		options.CompletionHandler = s.complete
	}
	s.sdk = sdk.NewServer(&sdk.Implementation{Name: "engram-memory", Title: "Engram memory", Version: o.Version}, options)
	s.sdk.AddReceivingMiddleware(explained)
	if o.Memory != nil {
		s.addTools()
		s.addResources()
		s.addPrompts()
	}
	if o.Contracts != nil && !o.ReadOnly {
		s.addContractTools()
	}
	return s
}

// Run serves one peer over a stream of lines in each direction, stdio as a
// rule, until the peer closes its side (nil, after what was asked is answered),
// ctx ends (nil; what is under way is given up), or the stream breaks. Nothing
// but the protocol is written to out.
func (s *Server) Run(ctx context.Context, in io.Reader, out io.Writer) error {
	return s.serve(ctx, &sdk.IOTransport{Reader: io.NopCloser(in), Writer: openWriter{out}, MaxLineLength: maxFrame})
}

func (s *Server) serve(ctx context.Context, t sdk.Transport) error {
	defer s.end()
	stop := context.AfterFunc(ctx, s.end)
	defer stop()
	err := s.sdk.Run(ctx, &answering{Transport: t, limit: s.o.Timeout, life: s.life})
	if ctx.Err() != nil && errors.Is(err, ctx.Err()) {
		return nil
	}
	return err
}

// openWriter is closed by whoever opened what it writes to.
type openWriter struct{ io.Writer }

func (openWriter) Close() error { return nil }
