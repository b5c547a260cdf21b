package command

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"engramd/internal/relay/daemon/wiring"
	"engramd/internal/snapshot/bundle"
)

// snapshotCommand is `engramd snapshot VERB`.
type snapshotCommand struct {
	opener
	what  snapshotVerb
	named bool // the verb stands on the command line
	given snapshotFlags
}

// snapshotVerb is one thing that can be done with snapshots.
type snapshotVerb struct {
	name, alias, args, summary string
	flags                      []string // that it takes beside --agent, --tenant and the options
	operands                   int      // most
	run                        func(*snapshotCommand, context.Context) error
}

func snapshotVerbs() []snapshotVerb {
	open := []string{"decrypt-identity", "key-file"}
	with := func(more ...string) []string { return append(more, open...) }
	return []snapshotVerb{
		{"create", "", "--agent KEY [OPTIONS]", "make a snapshot of an agent's memory; also without the word create",
			with("label", "at", "encrypt", "parent", "incremental", "pin", "created-at", "allow-empty", "json"), 0, (*snapshotCommand).create},
		{"ls", "list", "[--agent KEY] [--json]", "list snapshots, newest first", []string{"json"}, 0, (*snapshotCommand).list},
		{"show", "", "--agent KEY ID|FILE [RECORD] [--key-file FILE] [--json]",
			"show one record of a snapshot: by d tag or id, with a key also by slug, and its text; without RECORD list what there is",
			with("id", "json"), 2, (*snapshotCommand).show},
		{"verify", "", "--bundle FILE | --agent KEY ID [OPTIONS]",
			"verify a snapshot, check by check; exit code 1 unless all that was asked for is ok",
			with("bundle", "id", "signer", "trust", "json"), 1, (*snapshotCommand).verify},
		{"diff", "", "--agent KEY A B [OPTIONS]", "show how two snapshots (ids or files) differ",
			with("json"), 2, (*snapshotCommand).diff},
		{"export", "", "--agent KEY ID --to FILE", "copy a snapshot out, and its .sha256 file", []string{"id", "to", "redact-secrets"}, 1, (*snapshotCommand).export},
		{"delete", "rm", "--agent KEY ID [--force]", "delete a snapshot, but never the last verified one of the whole memory", []string{"id", "force"}, 1, (*snapshotCommand).remove},
		{"gc", "", "[--agent KEY] [--keep N] [--keep-automatic N] [--days N] [--json]", "apply retention now",
			[]string{"keep", "keep-automatic", "days", "json"}, 0, (*snapshotCommand).gc},
		{"pin", "", "--agent KEY ID", "exempt a snapshot from retention", []string{"id"}, 1, (*snapshotCommand).pin},
		{"unpin", "", "--agent KEY ID", "let retention have it again", []string{"id"}, 1, (*snapshotCommand).unpin},
		{"restore", "", "--agent KEY ID | --from FILE [OPTIONS]",
			"repair the relay from a snapshot, or roll an agent back to it; through the running relay if there is one",
			with("id", "from", "rollback", "dry-run", "no-auto-pre-snapshot", "trust", "allow-unsigned", "allow-empty", "json"), 1, (*snapshotCommand).restore},
		{"quarantine", "", "[ls | release NAME | drop NAME] [--agent KEY] [--json]", "what rollbacks took away: list it, bring it back, or forget it",
			[]string{"json"}, 2, (*snapshotCommand).quarantine},
	}
}

// help prints what a verb takes or, without one, which there are.
func (c *snapshotCommand) help(w io.Writer) {
	if !c.named {
		fmt.Fprint(w, "usage: engramd snapshot [COMMAND] [OPTIONS]\n\nKeep an agent's memory as of one instant, verify it, and go back to it.\n\n")
		for _, v := range snapshotVerbs() {
			fmt.Fprintf(w, "  %-11s %s\n", v.name, v.summary)
		}
		fmt.Fprint(w, "\nengramd snapshot COMMAND --help says what it takes. KEY is a pubkey, hex or npub.\n")
	} else {
		fmt.Fprintf(w, "usage: engramd snapshot %s %s\n\n%s.\n\nOptions:\n", c.what.name, c.what.args, strings.ToUpper(c.what.summary[:1])+c.what.summary[1:])
		fs := flag.NewFlagSet("", flag.ContinueOnError)
		new(snapshotFlags).register(fs, c.what.flags)
		fs.VisitAll(func(f *flag.Flag) {
			value, usage := flag.UnquoteUsage(f)
			fmt.Fprintf(w, "  --%s\n        %s\n", strings.TrimSpace(f.Name+" "+value), usage)
		})
	}
	fmt.Fprint(w, "\nThe relay's options, such as --data, --config and --snapshot-root, are taken too: engramd import --help.\n")
}

func (c *snapshotCommand) pick(args []string) ([]string, error) {
	verbs := snapshotVerbs()
	c.what = verbs[0]
	if len(args) > 0 && !strings.HasPrefix(args[0], "-") {
		i := slices.IndexFunc(verbs, func(v snapshotVerb) bool { return v.name == args[0] || v.alias == args[0] })
		if i < 0 {
			return nil, fmt.Errorf("unknown command %q; engramd snapshot --help lists them", args[0])
		}
		c.what, c.named, args = verbs[i], true, args[1:]
	}
	return args, nil
}

func (c *snapshotCommand) flags(fs *flag.FlagSet) int {
	c.given.register(fs, c.what.flags)
	return c.what.operands
}

func (c *snapshotCommand) check() error {
	if c.takes("id") && c.given.id == "" && len(c.operands) > 0 && bundle.CheckID(c.operands[0]) == nil {
		c.given.id, c.operands = c.operands[0], c.operands[1:]
	}
	return c.given.check()
}

func (c *snapshotCommand) configure() error {
	if err := c.base.configure(); err != nil {
		return err
	}
	return wiring.Compiles(c.cfg)
}

// takes reports whether the verb has a flag.
func (c *snapshotCommand) takes(name string) bool { return slices.Contains(c.what.flags, name) }

func (c *snapshotCommand) Run(ctx context.Context) error {
	wiring.Private()
	wiring.CollectMore(c.Env)
	return errors.Join(c.what.run(c, ctx), c.close())
}

func printJSON(w io.Writer, v any) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	return e.Encode(v)
}

// printOr prints a value as JSON if that was asked for, else by text.
func (c *snapshotCommand) printOr(v any, text func(io.Writer) error) error {
	if c.given.json {
		return printJSON(c.Stdout, v)
	}
	return text(c.Stdout)
}

const timeLayout = time.RFC3339
