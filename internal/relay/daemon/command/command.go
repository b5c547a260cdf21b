// Package command is the command line of engramd: the relay and its operator's
// tools.
package command

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"

	"golang.org/x/term"

	"engramd/internal/relay/config"
	"engramd/internal/relay/daemon"
	"engramd/internal/relay/daemon/wiring"
)

// Exit codes of the process.
const (
	exitOK      = 0
	exitFailure = 1
	exitUsage   = 2 // bad command line or configuration
)

// Run is the program's main function: it runs the process's command line and
// returns the exit code.
func Run(version string) int {
	signals := make(chan os.Signal, 8)
	signal.Notify(signals, syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP)
	m := &Main{Version: version, Args: os.Args[1:], Env: os.Environ(), Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr, Signals: signals,
		Terminal: term.IsTerminal(int(os.Stderr.Fd()))}
	return m.Main(context.Background())
}

// Main is one run of the program with everything it touches.
type Main struct {
	Version string
	Args    []string // without the program's name
	Env     []string // "NAME=value"
	Stdin   io.Reader
	Stdout  io.Writer
	Stderr  io.Writer
	Signals <-chan os.Signal // SIGTERM and SIGINT end, SIGHUP reloads
	// Terminal says that a person sits at Stderr.
	Terminal bool
}

// command is one subcommand. Its methods are called in their order, as long as
// they return no error.
type command interface {
	self() *base
	// pick takes the command's verb off the arguments.
	pick(args []string) (rest []string, err error)
	// flags adds the command's own flags, and returns how many operands it takes.
	flags(fs *flag.FlagSet) (operands int)
	// check judges flags and operands.
	check() error
	// configure reads the configuration.
	configure() error
	// Run does the work until it is done or ctx ends.
	Run(ctx context.Context) error
}

// base is what a subcommand is unless it says otherwise: one without verbs,
// flags and operands, which works beside the relay or without one.
type base struct {
	*Main
	options  *options
	verb     string
	operands []string
	cfg      *config.Config
}

func (b *base) self() *base                        { return b }
func (*base) pick(args []string) ([]string, error) { return args, nil }
func (*base) flags(*flag.FlagSet) (operands int)   { return 0 }
func (*base) check() error                         { return nil }
func (b *base) configure() (err error) {
	b.cfg, err = loaded(b.sources())
	return err
}

func (b *base) sources() config.Sources { return config.Sources{Flags: b.options.flags, Env: b.Env} }

// oneOf is pick for a command with verbs.
func (b *base) oneOf(args []string, otherwise string, verbs ...string) ([]string, error) {
	if b.verb = otherwise; len(args) > 0 && slices.Contains(verbs, args[0]) {
		b.verb, args = args[0], args[1:]
	}
	return args, nil
}

// parse reads the command line; a UsageError exits with 2.
func (m *Main) parse(d description, args []string) (err error) {
	b := d.command.self()
	b.Main, b.options = m, newOptions(d.name, d.options != nil)
	if args, err = d.command.pick(args); err != nil {
		return wiring.Usage(err)
	}
	if b.operands, err = b.options.parse(args, d.command.flags(b.options.fs)); err != nil {
		return err
	}
	if err := d.command.check(); err != nil {
		return wiring.Usage(err)
	}
	return d.command.configure()
}

// description is what `engramd help` says of a subcommand.
type description struct {
	name, args, summary string
	options             []string // that it reads, by section or key; nil where it has no configuration
	command             command
	more                string // its commands and flags
}

// What commands read of the configuration: to open the database beside the relay,
// to write to it in the relay's place, and to judge events as the relay does.
var (
	everything = []string{""}
	reading    = []string{"data", "gate", "read"}
	writing    = append([]string{"history", "store", "contracts", "cluster.enabled", "relay_key", "limits.author_bytes", "limits.author_events", "limits.query_timeout"}, reading...)
	judging    = append([]string{"listen", "public_url", "write", "admin", "limits"}, writing...)
	snapping   = append([]string{"snapshot", "restore_allow", "events"}, judging...)
	clustering = append([]string{"cluster", "public_url", "write", "limits.future", "retention"}, writing...)
)

func descriptions() []description {
	return []description{
		{"serve", "[OPTIONS]", "run the relay", everything, new(serveCommand), ""},
		{"import", "[OPTIONS] [--replace] [FILE|-]", "store events from JSON lines, through the running relay if there is one; --replace makes the heads of their agents those of the file", snapping, new(importCommand), ""},
		{"export", "[OPTIONS] [--history] [--filter JSON]…", "print all events, or those that a filter matches, as JSON lines, gated ones too", reading, new(exportCommand), ""},
		{"sync", "[OPTIONS] [--key-file FILE] [--filter JSON] [--json] URL", "fetch once what another relay has and this one has not, through the running relay if there is one", judging, new(syncCommand), syncUsage},
		{"delete", "[OPTIONS] --filter JSON… [--yes]", "count what filters match, and with --yes remove it for good, through the running relay if there is one", writing, new(deleteCommand), ""},
		{"backup", "[OPTIONS] FILE", "copy the database while the relay runs, and verify the copy", append([]string{"relay_key", "contracts.master_key"}, reading...), new(backupCommand), ""},
		{"restore", "[OPTIONS] FILE", "check a backup and put it in the place of the database, which is kept aside; the relay must not run", writing, new(restoreCommand), ""},
		{"check", "[OPTIONS] [--accept-loss WORD]", "check the database and say what to do; --accept-loss has it opened although it lacks something", writing, new(checkCommand), ""},
		{"snapshot", "[COMMAND] [OPTIONS]", "keep an agent's memory as of one instant, verify it, and go back to it", snapping, new(snapshotCommand), ""},
		{"relay-key", "[COMMAND] [OPTIONS]", "show, change and revoke the relay's identity key", writing, new(relayKeyCommand), relayKeyUsage},
		{"cluster", "COMMAND [OPTIONS]", "manage several relays over one log", clustering, new(clusterCommand), clusterUsage},
		{"master-key", "rotate [OPTIONS]", "change the master key of contract memory and seal everything anew", writing, new(masterKeyCommand), masterKeyUsage},
		{"outbox", "[ls | drop --relay URL] [OPTIONS]", "show what waits for further relays, and give it up", writing, new(outboxCommand), outboxUsage},
		{"clock", "accept [OPTIONS]", "believe the running relay's clock as it is", []string{"data"}, new(clockCommand), clockUsage},
		{"status", "[OPTIONS] [--json] [--top N]", "say who is connected to the running relay, what is slow and how full it is", []string{"data"}, new(statusCommand), ""},
		{"audit", "[OPTIONS] [--json] [--since TIME] [--limit N]", "print who called the management API, and what became of it", reading, new(auditCommand), ""},
		{"config", "[OPTIONS] [--check FILE | --defaults]", "print the configuration in force, or check a file", everything, new(configCommand), ""},
		{"healthcheck", "[OPTIONS]", "ask the running relay whether it is ready", []string{"listen"}, new(healthcheckCommand), ""},
		{"version", "", "print version and build", nil, new(versionCommand), ""},
	}
}

// Main runs the subcommand that Args name and returns the exit code.
func (m *Main) Main(ctx context.Context) int {
	if len(m.Args) == 0 {
		m.usage(m.Stderr)
		return exitUsage
	}
	name, args := m.Args[0], m.Args[1:]
	if slices.Contains([]string{"help", "-h", "-help", "--help"}, name) {
		m.usage(m.Stdout)
		return exitOK
	}
	all := descriptions()
	i := slices.IndexFunc(all, func(d description) bool { return d.name == name })
	if i < 0 {
		fmt.Fprintf(m.Stderr, "engramd: unknown command %q\n\n", name)
		m.usage(m.Stderr)
		return exitUsage
	}
	cmd := all[i].command
	err := m.parse(all[i], args)
	if errors.Is(err, flag.ErrHelp) {
		if own, ok := cmd.(interface{ help(io.Writer) }); ok {
			own.help(m.Stdout)
		} else {
			m.commandUsage(m.Stdout, all[i])
		}
		return exitOK
	}
	if err == nil {
		err = m.run(ctx, cmd)
	}
	if err == nil {
		return exitOK
	}
	for line := range strings.SplitSeq(err.Error(), "\n") {
		fmt.Fprintf(m.Stderr, "engramd %s: %s\n", name, line)
	}
	if errors.As(err, &wiring.UsageError{}) {
		return exitUsage
	}
	return exitFailure
}

// run runs a command. Signals end it by ending ctx, and at once when another
// one comes; serve handles its signals itself.
func (m *Main) run(ctx context.Context, cmd command) error {
	if _, ok := cmd.(*serveCommand); ok {
		return cmd.Run(ctx)
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	done := make(chan error, 1)
	go func() { done <- cmd.Run(ctx) }()
	var first daemon.Ending
	for {
		select {
		case err := <-done:
			return err
		case sig := <-m.Signals:
			err := fmt.Errorf("ended by %v", sig)
			if first.Again(time.Now()) {
				return err
			}
			cancel(err)
		}
	}
}

func (m *Main) usage(w io.Writer) {
	fmt.Fprint(w, "engramd is a Nostr relay that keeps the memory of AI agents.\n\nusage: engramd COMMAND [OPTIONS]\n\n")
	for _, d := range descriptions() {
		fmt.Fprintf(w, "  %-12s %s\n", d.name, d.summary)
	}
	fmt.Fprint(w, "\n`engramd COMMAND --help` lists a command's options. Start with: engramd serve\n")
}

func (m *Main) commandUsage(w io.Writer, d description) {
	fmt.Fprintf(w, "usage: engramd %s %s\n\n%s.\n", d.name, d.args, strings.ToUpper(d.summary[:1])+d.summary[1:])
	fmt.Fprint(w, d.more)
	if d.options == nil {
		return
	}
	fmt.Fprint(w, "\nOptions; each is also an environment variable and a key of the file that --config names:\n")
	config.WriteHelp(w, d.options)
}

// options are the flags of a command; flags is nil for one without a
// configuration. Its help lists those that it reads.
type options struct {
	fs    *flag.FlagSet
	flags *config.Flags
}

// newOptions makes the flag set of a command, which adds its own flags to those
// of the configuration, if it takes them.
func newOptions(name string, configured bool) *options {
	o := &options{fs: flag.NewFlagSet(name, flag.ContinueOnError)}
	o.fs.SetOutput(io.Discard) // errors are returned and printed once
	if configured {
		o.flags = config.Register(o.fs)
	}
	return o
}

// parse reads flags and operands in any order and wants at most so many
// operands. After "--" everything is an operand.
func (o *options) parse(args []string, most int) ([]string, error) {
	var operands, rest []string
	if i := slices.Index(args, "--"); i >= 0 {
		args, rest = args[:i], args[i+1:]
	}
	for {
		if err := o.fs.Parse(args); err != nil {
			if errors.Is(err, flag.ErrHelp) {
				return nil, err
			}
			return nil, wiring.Usage(err)
		}
		if o.fs.NArg() == 0 {
			break
		}
		operands, args = append(operands, o.fs.Arg(0)), o.fs.Args()[1:]
	}
	operands = append(operands, rest...)
	if len(operands) > most {
		return nil, wiring.Usage(fmt.Errorf("unexpected argument %q", operands[most]))
	}
	return operands, nil
}

func loaded(s config.Sources) (*config.Config, error) {
	cfg, err := config.Load(s)
	if err != nil {
		return nil, wiring.Usage(err)
	}
	return cfg, nil
}
