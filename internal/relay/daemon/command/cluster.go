package command

import (
	"context"
	"encoding/hex"
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"engramd/internal/platform/journal"
	"engramd/internal/relay/cluster/jetstream"
	"engramd/internal/relay/daemon/authority"
	"engramd/internal/relay/daemon/membership"
	"engramd/internal/relay/daemon/wiring"
	"engramd/internal/relay/keys"
	"engramd/internal/relay/keys/keyfile"
	"engramd/internal/relay/store/sqlite/engine"
)

// clusterCommand is `engramd cluster VERB`.
type clusterCommand struct {
	base
	number  uint64
	index   int
	yes     bool
	folders []string // of recover

	advertise, servers   string   // of init
	recipients           []string // the same
	renewing             bool     // the same
	joinListen, identity string   // of token
	tokenFile            string   // of join
	urls, keyFiles       []string // of verify
	lasts                time.Duration
}

const clusterUsage = `
Commands:
  init --advertise HOST --servers HOST,HOST [--recipient AGE]
                                     make this machine the first node
  init                               make the log on NATS servers of your own
  init --renew-authority             replace a lost authority
  token NAME... [--join-listen HOST:PORT] [--identity FILE]
                                     let machines join
  token ls, token revoke NAME...     list or revoke open tokens
  join [--token-file FILE|-]         join as a further node
  rejoin                             join again with another database
  leave                              leave the cluster
  remove NODE [--yes]                remove a node that does not return
  remove-server SERVER [--yes]       remove a log server; another one gets its copy
  doctor                             check all nodes and log servers
  verify --urls URL,URL... [--for 10m] [--key-file FILE]...
                                     verify the promises of running nodes
  recover [--folder DIR]... [--yes]  recover a halted node
  show, configure                    print or propose the shared options
  raise VERSION                      raise the version of the cluster
  void NUMBER [INDEX] --yes          skip a message that no node can execute

Stop the relay for init, join, rejoin, leave and void; configure, raise and remove need it running. A token is valid once,
for an hour and one name; join also reads it from ENGRAM_JOIN_TOKEN. rejoin keeps the old database in .struck-TIME. recover
prints and exports the writes that only one node has, imports them with your consent, and starts the cluster again from
this node, or joins the nodes that run. Run it again after an interruption. verify writes, replaces, deletes and reads as
clients do, some 30 writes a second, judges what the nodes show, and removes what it wrote; it exits with 1 if a promise
was broken or a node cannot be judged. docs/cluster.md has examples.
`

var clusterVerbs = map[string]int{"init": 0, "token": 16, "join": 0, "rejoin": 0, "leave": 0, "remove": 1, "remove-server": 1, "doctor": 0, "verify": 0, "recover": 0, "show": 0, "configure": 0, "raise": 1, "void": 2}

func (c *clusterCommand) pick(args []string) ([]string, error) {
	return c.oneOf(args, "", slices.Collect(maps.Keys(clusterVerbs))...)
}

func (c *clusterCommand) flags(fs *flag.FlagSet) int {
	switch c.verb {
	case "void":
		fs.BoolVar(&c.yes, "yes", false, "confirm that the message is lost")
	case "remove":
		fs.BoolVar(&c.yes, "yes", false, "remove a node that runs, too")
	case "remove-server":
		fs.BoolVar(&c.yes, "yes", false, "remove it although no other server can take its copy")
	case "recover":
		fs.BoolVar(&c.yes, "yes", false, "agree to the import and to the recovery")
		fs.Func("folder", "compare a further data folder; repeatable", func(path string) error {
			c.folders = append(c.folders, path)
			return nil
		})
	case "init":
		fs.StringVar(&c.advertise, "advertise", "", "name or IP address of this machine for the others")
		fs.StringVar(&c.servers, "servers", "", "the two or four other machines with log servers, comma-separated")
		fs.Func("recipient", "age recipient of the authority's key; repeatable", func(text string) error { c.recipients = append(c.recipients, text); return nil })
		fs.BoolVar(&c.renewing, "renew-authority", false, "replace a lost authority")
	case "verify":
		fs.Func("urls", "URLs of the nodes, comma-separated", func(text string) error { c.urls = strings.Split(text, ","); return nil })
		fs.DurationVar(&c.lasts, "for", 10*time.Minute, "duration of the workload")
		fs.Func("key-file", "file with a secret key that may write; repeatable", func(path string) error { c.keyFiles = append(c.keyFiles, path); return nil })
	case "token":
		fs.StringVar(&c.joinListen, "join-listen", "", "HOST:PORT on which machines join")
		fs.StringVar(&c.identity, "identity", "", "file with the age identity of the authority's key")
	case "join":
		fs.StringVar(&c.tokenFile, "token-file", "", "file with the token, - for stdin")
	}
	return clusterVerbs[c.verb]
}

func (c *clusterCommand) check() error {
	switch c.verb {
	case "":
		return errors.New("COMMAND is required; engramd cluster --help lists them")
	case "verify":
		return verifiable(c.urls, c.lasts)
	case "remove":
		if len(c.operands) == 0 {
			return errors.New("NODE is required")
		}
	case "remove-server":
		if len(c.operands) == 0 {
			return errors.New("SERVER is required: engramd cluster doctor lists them")
		}
	case "token":
		if len(c.operands) == 0 || c.operands[0] == "revoke" && len(c.operands) == 1 {
			return errors.New("NAME is required: of each machine, or of a token to revoke")
		}
		for _, name := range c.operands {
			if err := authority.CheckHost(name); err != nil {
				return fmt.Errorf("%q: %w", name, err)
			}
		}
	case "raise", "void":
		return c.numbers(c.operands)
	}
	return nil
}

func (c *clusterCommand) numbers(operands []string) (err error) {
	c.index = -1
	if len(operands) == 0 {
		return fmt.Errorf("%s: a number is required", c.verb)
	}
	if c.number, err = strconv.ParseUint(operands[0], 10, 63); err != nil || c.number == 0 {
		return fmt.Errorf("%s %q: want a number from 1", c.verb, operands[0])
	}
	if len(operands) > 1 {
		if c.index, err = strconv.Atoi(operands[1]); err != nil || c.index < 0 {
			return fmt.Errorf("void %d %q: want an index from 0", c.number, operands[1])
		}
	}
	if c.verb == "void" && !c.yes {
		return errors.New("void: the message is lost on every node; add --yes if the log of a stopped node names it")
	}
	return nil
}

func (c *clusterCommand) Run(ctx context.Context) error {
	wiring.Private()
	switch c.verb {
	case "init":
		if c.renewing {
			return c.renew()
		}
		return c.alone(func() error { return c.init(ctx) })
	case "token":
		return c.token(ctx)
	case "join", "rejoin":
		text, err := given(c)
		if err != nil {
			return err
		}
		return c.alone(func() error {
			if text != "" && c.verb == "join" {
				return c.admit(ctx, text)
			}
			return c.join(ctx)
		})
	case "leave":
		return c.alone(func() error {
			if err := c.leave(ctx); err != nil {
				return err
			}
			return membership.Over(c.cfg.Data)
		})
	case "void":
		return c.alone(func() error { return c.void(ctx) })
	case "doctor":
		return c.doctor(ctx)
	case "verify":
		return c.verify(ctx)
	case "remove-server":
		return c.removeServer(ctx)
	case "recover":
		return c.recover(ctx)
	case "show":
		return c.show(ctx)
	}
	return c.tell(ctx)
}

// alone does work while nobody else has the data folder.
func (c *clusterCommand) alone(work func() error) (err error) {
	if err := engine.PrepareDir(c.cfg.Data); err != nil {
		return err
	}
	lock, err := engine.Lock(c.cfg.Data)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, lock.Unlock()) }()
	own := "engramd cluster " + c.verb
	done, err := journal.Finish(c.cfg.Data, own, membership.Serving)
	if err == nil && done != nil {
		_, err = fmt.Fprintf(c.Stdout, "%s was interrupted, and is finished now\n", done.Command)
	}
	if err != nil || done != nil && done.Command == own {
		return err
	}
	return work()
}

// dial connects to the log.
func (c *clusterCommand) dial(ctx context.Context) (*jetstream.Conn, error) {
	if len(c.cfg.Cluster.URLs) == 0 {
		return nil, wiring.Usage(errors.New("cluster.urls names no server of the log"))
	}
	return jetstream.Open(ctx, membership.LogOptions(c.cfg))
}

// init makes the log and its first node.
func (c *clusterCommand) init(ctx context.Context) error {
	if id, err := membership.Read(c.cfg.Data); err == nil {
		return fmt.Errorf("init: the data folder is node %s of cluster %s; run engramd cluster leave first", id.Node, id.Cluster)
	} else if !errors.Is(err, membership.ErrNone) {
		return err
	}
	if c.advertise != "" {
		return c.setUp(ctx)
	}
	conn, err := c.dial(ctx)
	if err != nil {
		return err
	}
	defer conn.Close()
	last, err := membership.Prepare(ctx, conn)
	if err != nil {
		return err
	}
	if last > 0 {
		return fmt.Errorf("init: the log %s has messages; add a node with engramd cluster join, or set another cluster.stream", c.cfg.Cluster.Stream)
	}
	id := membership.New()
	if err := id.Save(c.cfg.Data); err != nil {
		return err
	}
	if err := membership.Begin(ctx, conn, id, c.cfg, time.Now()); err != nil {
		return errors.Join(err, keyfile.Remove(filepath.Join(c.cfg.Data, membership.File)))
	}
	fmt.Fprintf(c.Stdout, "cluster %s, node %s: start it with engramd serve --cluster\n", id.Cluster, id.Node)
	return nil
}

// nodeFiles are those that make a data folder a node's.
func nodeFiles(dir string) []string {
	path := engine.File(dir)
	return []string{path, path + "-wal", engine.MarkFile(dir), filepath.Join(dir, membership.File)}
}

// join fetches another node's database. Whoever joins again has what was there kept.
func (c *clusterCommand) join(ctx context.Context) error {
	dir := c.cfg.Data
	j := membership.Joining{Dir: dir, Command: "engramd cluster " + c.verb}
	if c.verb == "rejoin" {
		j.Aside = membership.Aside()
	} else {
		for _, file := range nodeFiles(dir) {
			if err := absent(file); err != nil {
				return err
			}
		}
	}
	conn, err := c.dial(ctx)
	if err != nil {
		return err
	}
	defer conn.Close()
	if err := conn.Check(ctx); err != nil {
		return err
	}
	if here := j.Here(); here > 0 {
		fmt.Fprintf(c.Stdout, "%d bytes of the database are here already: fetching the rest\n", here)
	}
	j.Conn = conn
	place, err := j.Fetch(ctx)
	if err != nil {
		return err
	}
	id, err := j.Place(place)
	if err != nil {
		return err
	}
	fmt.Fprintf(c.Stdout, "cluster %s, node %s, up to message %d", id.Cluster, id.Node, place.At.Number)
	if c.verb == "rejoin" {
		fmt.Fprintf(c.Stdout, ". What was here is kept in %s, and the keys stay. Start it with engramd serve --cluster\n", filepath.Join(dir, j.Aside))
		return nil
	}
	if absent(filepath.Join(dir, keys.FileName)) == nil { // else a token brought them
		fmt.Fprintf(c.Stdout, ". Copy relay.key and master.key of another node into %s", dir)
	}
	fmt.Fprintln(c.Stdout, ". Start it with engramd serve --cluster")
	return nil
}

// show prints the shared options that the database has.
func (c *clusterCommand) show(ctx context.Context) error {
	place, err := membership.PlaceOf(ctx, wiring.Database(c.cfg.Data))
	if err != nil {
		return err
	}
	_, err = io.WriteString(c.Stdout, "# cluster "+hex.EncodeToString(place.Cluster[:])+", as of message "+
		strconv.FormatUint(place.At.Number, 10)+"\n"+place.Configuration)
	return err
}
