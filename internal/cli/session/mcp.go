package session

import (
	"context"
	"log/slog"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/spf13/cobra"

	"engramd/internal/agent/mcp"
	"engramd/internal/agent/session"
	"engramd/internal/cli/bearer"
	"engramd/internal/cli/cliutil"
	"engramd/internal/cli/exit"
	"engramd/internal/cli/proposal"
	clisnapshot "engramd/internal/cli/snapshot"
	"engramd/internal/cli/view"
	"engramd/internal/client"
	"engramd/internal/client/contract"
	"engramd/internal/snapshot/bundle"
)

// callFactor is how many times the time limit of one question a whole call may
// take: to find the relays, to read, and to write.
const callFactor = 3

// NewMCP returns engramctl mcp.
func NewMCP(env *cliutil.Env) *cobra.Command {
	var tools []string
	var e view.ModelFlags
	f := &clisnapshot.Options{Tenant: bundle.DefaultTenant, LockTimeout: snapshotPatience}
	c := cliutil.PairFlags(env, env.Command(&cobra.Command{
		Use:   "mcp",
		Short: "Serve the memory to an agent over MCP, on stdin and stdout",
		Long: `Serve the memory to an agent over the Model Context Protocol (MCP), on stdin and
stdout: tools to recall, search, list, read, write, edit, note and delete memories, one
(memory_more) for what is seldom needed, such as earlier versions, renaming and links,
and the core as a resource and as a prompt. With --agent, as the owner, those that read only.

--tools says which are offered, a list of "memory", "mind", "files", "contracts" and
"all", in any order. With mind, what an agent makes of its memory: consolidation,
dreams, intentions (docs/mind.md). With files,
the memory tool of Anthropic's API: one tool, memory, with its commands view, create,
str_replace, insert, delete and rename over /memories. With contracts, the tools for the
agent's contracts, as engramctl contract has them. With all, memory and mind, and each
action as a tool of its own. The default is memory,mind, for an owner memory; without
owner and agent it is contracts. ENGRAM_TOKEN, for the relay ENGRAM_TOKEN_RELAY,
is whose contracts they are in place of a key, which is not needed for them then.

This is for the program that runs the agent to start; docs/mcp.md shows how to
configure it. Nothing but the protocol is on stdout. stderr has a line for each
call, with neither slugs nor texts. The key must be usable without a person: a
key file, or an encrypted one with ENGRAM_KEY_PASSWORD_FILE.

The server starts without waiting for any relay, so that an agent can start while they
are down; then its calls fail and say so. While it runs it follows the relays and
keeps a copy of the memory in $XDG_CACHE_HOME/engramd, encrypted under a key that only
the agent and its owner have; --no-mirror keeps it in the memory of the process.
--timeout bounds each question to the relays; a call as a whole takes three times that
at most. The server ends when stdin does, or at SIGTERM, with exit code 0.

With --attest (attest = true in a profile) the server signs at its start where the
session continues from, in an archived note, unless the session has one (docs/trust.md).

How often memories are used is counted in $XDG_STATE_HOME/engramd, encrypted too, and
with --no-mirror nowhere. memory_recall compares meaning beside words by a matrix in the
program, unless --embed none is given. No server is asked but one that --embed-url or
--rerank-url names: it compares meaning in the matrix's place, or puts the best in order
(docs/memory.md).`,
		Example: `  engramctl mcp --key-file agent.key --owner npub1… --relay wss://relay.example
  engramctl mcp --tools memory
  engramctl mcp --tools memory,contracts
  engramctl mcp --tools files
  ENGRAM_KEY_FILE=owner.key engramctl mcp --agent npub1… --relay wss://relay.example
  ENGRAM_TOKEN=… ENGRAM_TOKEN_RELAY=wss://relay.example engramctl mcp`,
	}, func(ctx context.Context, _ []string) error { return serveMCP(ctx, env, f, e, tools) }))
	e.Add(c)
	attestFlag(env, c)
	c.Flags().StringSliceVar(&tools, "tools", nil, "which tools to offer, a `LIST` of: memory mind files contracts all (default memory,mind)")
	c.Flags().StringVar(&f.Root, "snapshot-root", "", "`folder` of snapshots (ENGRAM_SNAPSHOTS; default $XDG_STATE_HOME/engramd)")
	return c
}

// snapshotPatience is how long a call waits for who else is at the agent's
// snapshots.
const snapshotPatience = 5 * time.Second

// Profiles of tools.
const (
	memoryTools   = "memory"
	mindTools     = "mind"
	fileTools     = "files"
	contractTools = "contracts"
	eachTool      = "all" // those of memory and mind, each by itself
)

// serveMCP serves until the peer or the process ends.
func serveMCP(ctx context.Context, env *cliutil.Env, f *clisnapshot.Options, e view.ModelFlags, tools []string) error {
	if hooksOff(env) {
		return nil
	}
	level := slog.LevelInfo
	if env.Flags.Verbose {
		level = slog.LevelDebug
	}
	o := mcp.Options{Version: env.Version, Timeout: callFactor * env.Flags.Timeout,
		Log: slog.New(slog.NewTextHandler(env.Stderr, &slog.HandlerOptions{Level: level})).With("component", "mcp")}
	s, err := env.Settings()
	if err != nil {
		return err
	}
	pair := s.Owner != "" || s.Agent != ""
	if tools, err = chosenTools(tools, pair, s.Agent != ""); err != nil {
		return err
	}
	named, err := view.OpenModels(env, e)
	if err != nil {
		return err
	}
	var own *client.Client
	if slices.ContainsFunc(tools, func(t string) bool { return t != contractTools }) {
		s, err := env.Session(ctx, cliutil.Configured, func(to *session.Options) { to.Log = o.Log })
		if err != nil {
			return err
		}
		defer s.Close()
		own, s.Models = s.Client, named
		live, done, err := serve(ctx, env, s, f, slices.Contains(tools, mindTools))
		if err != nil {
			return err
		}
		defer done()
		o.Session, o.Kept = live, keepsAll(ctx, own)
		offer(&o, tools, live)
	} else {
		o.Log.Warn("tools for contracts only, no memory")
	}
	if slices.Contains(tools, contractTools) {
		business, err := business(ctx, env, own)
		if err != nil {
			return err
		}
		defer business.Close()
		o.Contracts = mcp.ContractsOf(contract.Of(business))
	}
	if err := mcp.New(o).Run(ctx, env.Stdin, env.Stdout); err != nil {
		return exit.Usagef("the stream to the MCP client broke: %w", err)
	}
	return nil
}

// promisePatience is how long relays may take to say what they promise.
const promisePatience = time.Second

// keepsAll asks the configured relays, beside, whether each of them promises to keep
// what is replaced (NIP-11). What is returned waits for the answers; a relay that gives
// none promises nothing.
func keepsAll(ctx context.Context, c *client.Client) func(context.Context) bool {
	ctx, done := context.WithTimeout(ctx, promisePatience)
	var asking sync.WaitGroup
	var without atomic.Bool
	for _, url := range c.Options().Relays {
		asking.Go(func() {
			info, err := c.Info(ctx, url)
			if err != nil || info.History == nil {
				without.Store(true)
			}
		})
	}
	go func() {
		asking.Wait()
		done()
	}()
	return func(context.Context) bool {
		asking.Wait()
		return !without.Load()
	}
}

// serve begins to serve a session, and returns what ends that.
func serve(ctx context.Context, env *cliutil.Env, s *session.Session, f *clisnapshot.Options, thinks bool) (live *session.Live, done func(), err error) {
	kept, err := s.Copies.Open(ctx, s.Warn)
	if err != nil {
		return nil, nil, err
	}
	done = func() { _ = kept.Close() } // what was kept is kept
	o := session.ServeOptions{Snapshot: clisnapshot.Taker(env, s, f), Patience: callFactor * env.Flags.Timeout, Plans: thinks}
	if s.Memory.Writable() {
		set, err := env.Settings()
		if err == nil {
			o.Accept = set.Proposals.Accept && !tried(env)
			o.Box, err = proposal.Inbox(env, s.Client, s.Memory)
		}
		if err == nil {
			o.Attest, err = attests(env, s.Memory)
		}
		if err != nil {
			done()
			return nil, nil, exit.BadUsage(err)
		}
	}
	live = s.Serve(ctx, kept, o)
	return live, func() { live.Close(); _ = kept.Close() }, nil
}

// offer has the server offer the tools for a memory that were chosen.
func offer(o *mcp.Options, tools []string, live *session.Live) {
	o.Each = slices.Contains(tools, eachTool)
	if live.Keeps() {
		o.Why = live.Why
	}
	memories := slices.Contains(tools, memoryTools)
	switch {
	case slices.Contains(tools, fileTools) && memories:
		o.Files = mcp.FilesBeside
	case slices.Contains(tools, fileTools):
		o.Files = mcp.FilesAlone
	}
	if !slices.Contains(tools, mindTools) {
		return
	}
	o.Mind = &mcp.Mind{Alone: !memories}
	if live.Keeps() {
		o.Mind.Judge = live.Judge
	}
	if base := live.Plans(); base != nil {
		o.Mind.Plans = func(session string) mcp.Plans {
			own := *base
			own.Session = session
			return &own
		}
	}
}

// chosenTools checks which tools are wanted: for a pair those for memory and, for the
// agent, of the mind, unless somebody says otherwise.
func chosenTools(tools []string, pair, owner bool) ([]string, error) {
	own := []string{memoryTools, mindTools}
	if owner {
		own = own[:1]
	}
	switch {
	case tools == nil && pair:
		return own, nil
	case tools == nil:
		return []string{contractTools}, nil
	case len(tools) == 0:
		return nil, exit.Usagef("--tools: name memory, mind, files, contracts, or several of them")
	case slices.Contains(tools, eachTool):
		tools = append(slices.Clone(tools), own...)
	}
	for _, t := range tools {
		switch {
		case !slices.Contains([]string{memoryTools, mindTools, fileTools, contractTools, eachTool}, t):
			return nil, exit.Usagef("--tools: %q is none of memory, mind, files, contracts, all", t)
		case t != contractTools && !pair:
			return nil, exit.Usagef("--tools %s: whose memory? Name the owner or the agent (--owner, --agent)", t)
		case (t == contractTools || t == mindTools) && owner:
			return nil, exit.Usagef("--tools %s: an owner's server only reads memory", t)
		}
	}
	return tools, nil
}

// business returns the client for contracts: by the token, or by the key of the
// client for a memory beside it, if there is one. Contracts are at the configured
// relays: the agent's own list says nothing of them.
func business(ctx context.Context, env *cliutil.Env, c *client.Client) (*client.Client, error) {
	if c == nil {
		return bearer.Acting(ctx, env, false)
	}
	t, err := bearer.BearerToken(env)
	if err != nil {
		return nil, err
	}
	if t == (bearer.Token{}) {
		return client.New(c.Identity(), client.Options{Relays: c.Options().Relays, Timeout: env.Flags.Timeout, Trace: env.Trace()}), nil
	}
	return bearer.Bearing(env, t)
}

// attestFlag is --attest.
func attestFlag(env *cliutil.Env, c *cobra.Command) {
	c.Flags().BoolFunc("attest", "sign where the session continues from, in an archived note (attest in a profile)", func(text string) error {
		on, err := strconv.ParseBool(text)
		env.Flags.Attest = &on
		return err
	})
}

// attests reports whether the start of a session is to be attested. Only the agent
// can: an owner's profile that says so means nothing, and the flag is a mistake.
func attests(env *cliutil.Env, m *session.Memory) (bool, error) {
	if env.Flags.Attest != nil {
		if *env.Flags.Attest && !m.Writable() {
			return false, exit.Usagef("--attest: this key is the owner's, and only the agent signs what it has written")
		}
		return *env.Flags.Attest && !tried(env), nil
	}
	profile, err := env.Profile()
	return profile.Attest && m.Writable() && !tried(env), err
}
