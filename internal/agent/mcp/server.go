package mcp

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"engramd/internal/agent/briefing"
	"engramd/internal/memory/intentions"
	recallanswer "engramd/internal/memory/recall/answer"
	"engramd/internal/memory/write"
)

const (
	// defaultTimeout is Options.Timeout when that is zero.
	defaultTimeout = 30 * time.Second
	// maxFrame is the longest accepted message, in bytes: several times the
	// largest text with every byte escaped.
	maxFrame = 4 << 20
)

// Options configure a Server. It needs Memory or Contracts.
type Options struct {
	// Memory is the agent's memory; nil leaves out everything about it.
	Memory Memory
	// Files offers the memory as files too, or only so.
	Files Files
	// Mind offers the tools for consolidation and what goes with it beside; nil, or
	// ReadOnly, leaves them out.
	Mind *Mind
	// Contracts is contract memory, for the contract tools; nil, or ReadOnly,
	// leaves them out.
	Contracts Contracts
	// Snapshot saves the whole memory in a file on this machine, for the tool
	// memory_snapshot; nil, or ReadOnly, leaves it out. Its errors are those of
	// client.Client.Ask, client.ErrPartial, ErrNothing and ErrInUse.
	Snapshot func(ctx context.Context, label string) (Snapshot, error)
	// Copy is the local copy of the memory, which recall, search, lists and
	// counts are answered from; nil asks the relays each time.
	Copy recallanswer.Source
	// Settle waits for what makes a Copy whole that is not yet, as long as that can
	// be expected soon. nil does not.
	Settle func(ctx context.Context)
	// Near returns how near sections are to a query in meaning; nil compares
	// words alone, and so does a recall for which it fails.
	Near func(ctx context.Context, query string) (func(slug string, section int) (cosine float64, ok bool), error)
	// Rerank puts the best of a recall in order; nil leaves it as it is, and so
	// does one that fails. It takes a Copy.
	Rerank recallanswer.Scorer
	// Used is told which memories were shown by a recall, or read; nil counts
	// nothing. Uses returns what was counted, by slug; nil leaves it out.
	Used func(ctx context.Context, read bool, slugs []string)
	Uses func(ctx context.Context) (map[string]recallanswer.Use, error)
	// Similar returns memories that say nearly what a text at a slug says, the
	// nearest first; a write names a few of them. nil finds none.
	Similar func(slug, text string) []SimilarUnit
	// Copied finds the external memory that a text was taken from, beside those
	// that the server has seen itself; nil knows none.
	Copied write.Copied
	// Session is stamped into what is written, beside the name of the program
	// that calls; "" for none. Current is the session of the harness that the server
	// runs in now, which is stamped instead; "" where it is not known, and nil
	// knows none.
	Session string
	Current func(ctx context.Context) string
	// Wrote is told after each write that succeeded which slugs it was about; nil
	// is told nothing.
	Wrote func(ctx context.Context, slugs []string)
	// Project is the slug of the memory of the project in whose folder the server runs;
	// "" names none to the agent.
	Project string
	// Place returns where the session works, for intentions of a project; nil does
	// not know. Fresh returns the first of some intentions that the session was not
	// shown before, at most that many, and notes that it is now; known says that the
	// session is. nil, and one that knows no session, leaves that to the server, which
	// then is the session.
	Place func(ctx context.Context) intentions.Place
	Fresh func(ctx context.Context, items []intentions.Item, most int) (fresh []intentions.Item, known bool)
	// Scope says in which project the session asks; nil, and its zero value, look
	// through all memory.
	Scope func(ctx context.Context) recallanswer.Scope
	// Wake says for what the memory is looked through at the start of a session, but
	// for time and place; nil knows nothing of uses.
	Wake func(ctx context.Context) briefing.Options
	// Proposals are what others want to be remembered; nil, or ReadOnly, leaves out
	// the tools for them.
	Proposals Proposals
	// ReadOnly leaves out the tools that write: it is for an owner, who only
	// reads.
	ReadOnly bool
	// Discover finds out which relays to ask; nil leaves them as they are. The
	// server calls it before the first question and again from time to time,
	// never while a question is under way. Its error does not fail the call:
	// the question that follows has errors of its own.
	Discover func(ctx context.Context) error
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
	s := &Server{o: o, memoryCalls: newLimiter(o.Discover, o.Clock), contractCalls: newLimiter(nil, o.Clock), slugs: newLocks(),
		external: newExternals(), arguments: map[string][]string{}}
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
	memories := o.Memory != nil && o.Files != FilesAlone && !s.mindAlone()
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
	if o.Memory != nil && o.Files != NoFiles {
		s.addFiles()
	}
	if s.minds() {
		s.addMindTools()
	}
	if o.Contracts != nil && !o.ReadOnly {
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
