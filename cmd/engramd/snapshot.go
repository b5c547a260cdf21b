package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"engramd/internal/config"
	"engramd/internal/events"
	"engramd/internal/snapshot/bundle"
	"engramd/internal/snapshot/operator"
	"engramd/internal/store"
)

// snapshotCommand is `engramd snapshot VERB`.
type snapshotCommand struct {
	*Main
	verb     snapshotVerb
	operands []string
	given    snapshotFlags
	cfg      *config.Config
	store    *store.Store      // nil unless the verb opened it
	events   *events.Publisher // nil without a broker
}

// snapshotVerb is one thing that can be done with snapshots.
type snapshotVerb struct {
	name, args, summary string
	flags               []string // that it takes beside --agent, --tenant and the options
	operands            int      // most
	run                 func(*snapshotCommand, context.Context) error
}

func snapshotVerbs() []snapshotVerb {
	open := []string{"decrypt-identity", "key-file"}
	with := func(more ...string) []string { return append(more, open...) }
	return []snapshotVerb{
		{"create", "--agent KEY [--label TEXT] [--at TIME] [--encrypt age:…] [--parent ID | --incremental] [--pin] [--created-at TIME] [--key-file FILE] [--json]",
			"make a snapshot of an agent's memory; also without the word create",
			with("label", "at", "encrypt", "parent", "incremental", "pin", "created-at", "json"), 0, (*snapshotCommand).create},
		{"list", "[--agent KEY] [--json]", "list snapshots, newest first", []string{"json"}, 0, (*snapshotCommand).list},
		{"verify", "--bundle FILE | --agent KEY --id ID [--decrypt-identity FILE] [--signer KEY] [--key-file FILE] [--json]",
			"verify a snapshot, check by check; exit code 1 unless all that was asked for is ok",
			with("bundle", "id", "signer", "json"), 0, (*snapshotCommand).verify},
		{"diff", "--agent KEY [--decrypt-identity FILE] [--key-file FILE] [--json] A B", "show how two snapshots (ids or files) differ",
			with("json"), 2, (*snapshotCommand).diff},
		{"export", "--agent KEY --id ID --to FILE", "copy a snapshot out, and its .sha256 file", []string{"id", "to", "redact-secrets"}, 0, (*snapshotCommand).export},
		{"delete", "--agent KEY --id ID", "delete a snapshot, but never the last verified one", []string{"id"}, 0, (*snapshotCommand).remove},
		{"gc", "[--agent KEY] [--keep N] [--keep-automatic N] [--days N] [--json]", "apply retention now",
			[]string{"keep", "keep-automatic", "days", "json"}, 0, (*snapshotCommand).gc},
		{"pin", "--agent KEY --id ID", "exempt a snapshot from retention", []string{"id"}, 0, (*snapshotCommand).pin},
		{"unpin", "--agent KEY --id ID", "let retention have it again", []string{"id"}, 0, (*snapshotCommand).unpin},
		{"restore", "--agent KEY --id ID | --from FILE [--rollback] [--dry-run] [--no-auto-pre-snapshot] [--decrypt-identity FILE] [--key-file FILE] [--json]",
			"repair the relay from a snapshot, or roll an agent back to it; through the running relay if there is one",
			with("id", "from", "rollback", "dry-run", "no-auto-pre-snapshot", "json"), 0, (*snapshotCommand).restore},
		{"quarantine", "[list | release NAME | drop NAME] [--agent KEY] [--json]", "what rollbacks took away: list it, bring it back, or forget it",
			[]string{"json"}, 2, (*snapshotCommand).quarantine},
	}
}

// snapshotUsage lists the verbs for --help.
func snapshotUsage() string {
	var b strings.Builder
	b.WriteString("\nIt has these commands, all with --tenant NAME (default \"default\"). KEY is a pubkey, hex or npub:\n")
	for _, v := range snapshotVerbs() {
		fmt.Fprintf(&b, "  %s %s\n        %s\n", v.name, v.args, v.summary)
	}
	return b.String()
}

// ParseFlags reads the command line and the configuration.
func (c *snapshotCommand) ParseFlags(args []string) error {
	verbs := snapshotVerbs()
	c.verb = verbs[0]
	if len(args) > 0 && !strings.HasPrefix(args[0], "-") {
		i := slices.IndexFunc(verbs, func(v snapshotVerb) bool { return v.name == args[0] })
		if i < 0 {
			return usageError{fmt.Errorf("unknown command %q; engramd snapshot --help lists them", args[0])}
		}
		c.verb, args = verbs[i], args[1:]
	}
	o := newOptions("snapshot")
	c.given.register(o.fs, c.verb.flags)
	var err error
	if c.operands, err = o.parse(args, c.verb.operands); err != nil {
		return err
	}
	if err := c.given.check(); err != nil {
		return usageError{err}
	}
	if c.cfg, err = o.load(c.Env); err != nil {
		return err
	}
	return compiles(c.cfg)
}

// Run does what the verb says.
func (c *snapshotCommand) Run(ctx context.Context) error {
	private()
	collectMore(c.Env)
	return c.verb.run(c, ctx)
}

// Close ends what the verb opened.
func (c *snapshotCommand) Close() error {
	ctx, cancel := context.WithTimeout(context.Background(), brokerGrace)
	defer cancel()
	c.events.Close(ctx)
	if c.store == nil {
		return nil
	}
	return c.store.Close()
}

// files is the service for what needs no database.
func (c *snapshotCommand) files() (*operator.Service, error) { return c.service(nil) }

// service is the service over the database if the verb has opened it.
func (c *snapshotCommand) service(judge operator.Judge) (*operator.Service, error) {
	settings, err := snapshotSettings(c.cfg)
	if err != nil {
		return nil, err
	}
	if c.cfg.Events.NATS != "" && c.events == nil {
		if c.events, err = events.New(brokerOptions(c.cfg)); err != nil {
			return nil, usageError{err}
		}
	}
	o := snapshotOptions(c.cfg, settings)
	o.Store, o.Judge, o.Events = c.store, judge, c.events
	return operator.New(o), nil
}

// reading is the service beside a daemon, or without one, for what only reads.
func (c *snapshotCommand) reading(ctx context.Context) (_ *operator.Service, err error) {
	if c.store, err = openBeside(ctx, c.cfg); err != nil {
		return nil, err
	}
	return c.files()
}

// agent is the agent that must have been named.
func (c *snapshotCommand) agent() (string, error) {
	if c.given.agent == "" {
		return "", usageError{errors.New("whose memory? Give --agent")}
	}
	return c.given.agent, nil
}

// id is the agent and the id that must have been named.
func (c *snapshotCommand) id() (agent, id string, err error) {
	if agent, err = c.agent(); err != nil {
		return "", "", err
	}
	if c.given.id == "" {
		return "", "", usageError{errors.New("which snapshot? Give --id; engramd snapshot list shows them")}
	}
	return agent, c.given.id, nil
}

// which names a snapshot by an id or a path.
func (c *snapshotCommand) which(name string) (w operator.Which, err error) {
	w = operator.Which{Tenant: c.given.tenant, Agent: c.given.agent}
	if bundle.CheckID(name) == nil {
		w.ID = name
	} else if w.Path, err = filepath.Abs(name); err != nil {
		return w, err
	}
	if w.Identities, err = identitiesFrom(c.given.identity); err != nil {
		return w, err
	}
	secret, err := c.given.secret()
	if err == nil && secret.hex != "" {
		w.Keys, err = bundle.KeysOf(secret.hex, secret.public)
	}
	return w, err
}

func (c *snapshotCommand) printJSON(v any) error {
	e := json.NewEncoder(c.Stdout)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	return e.Encode(v)
}

// printOr prints a value as JSON if that was asked for, else by text.
func (c *snapshotCommand) printOr(v any, text func(io.Writer) error) error {
	if c.given.json {
		return c.printJSON(v)
	}
	return text(c.Stdout)
}

const timeLayout = time.RFC3339
