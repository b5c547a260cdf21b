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
It has these commands (docs/cluster.md):
  init --advertise HOST --servers HOST,HOST [--recipient AGE]
        make the database in the data folder, which may be new, the first node of a cluster: an authority, certificates, and the
        configurations of engramd and of this machine's nats-server. The options that nodes share are those of this
        configuration. The relay must not run. Without --advertise it makes the log on NATS servers of your own
  init --renew-authority
        make another authority on a member, if the one that there was is lost
  token NAME... [--join-listen HOST:PORT] [--identity FILE]
        print a token for each machine, which lets it in once, within an hour, and let them in until all are used; token ls
        lists those that are open, token revoke NAME closes them
  join [--token-file FILE|-]
        by a token, or the variable ENGRAM_JOIN_TOKEN: make this machine one of the cluster, with keys and configurations. Then
        fetch the database of another node that runs into an empty data folder, as a further node. Without a token the
        relay's key and the master key are copied by you
  rejoin
        the same where a database is, which lacks or has what the others do not: it is kept in a folder .struck-TIME, and the
        keys and snapshots stay. The relay must not run
  leave
        tell the others, and make the database one that stands alone again. The relay must not run
  remove NODE
        take a node out that does not come back, by name or id, through the running relay; it counts no more, and the log waits
        for it no longer. One that runs ends, with --yes
  doctor
        ask all nodes and all servers of the log for their places, hashes, clocks, settings and disks, and say what is to be
        done; ends with 1 if anything is
  verify --urls URL,URL... [--for 10m] [--key-file FILE]...
        work at nodes that run as clients do, some 30 writes a second, with keys of its own or those given: write, replace,
        delete and read at all of them, and judge at the end what they show. Then it removes what it wrote, and says what
        it leaves. Ctrl-C ends it early. It ends with 1 if a promise was broken, or a node cannot be judged
  recover
        bring a node back that has halted. What only some node has is written down first: of this one, of the others that
        have halted, and of each data folder that --folder names. Then it is imported, if you agree, and the cluster begins
        again from this node; where other nodes work, this one joins them. --yes agrees to all. Killed anywhere, run it again
  show
        print the options that the nodes share, as the cluster has them
  configure
        propose the shared options of this configuration (--config FILE) to all nodes, through the running relay
  raise VERSION
        have the cluster write at a later version, once all nodes can read it, through the running relay
  void NUMBER [INDEX]
        have every node skip a message of the log, or one command of it, before which all nodes stopped because none can
        execute it. The relay must not run. What is skipped is lost: be sure
`

var clusterVerbs = map[string]int{"init": 0, "token": 16, "join": 0, "rejoin": 0, "leave": 0, "remove": 1, "doctor": 0, "verify": 0, "recover": 0, "show": 0, "configure": 0, "raise": 1, "void": 2}

func (c *clusterCommand) pick(args []string) ([]string, error) {
	return c.oneOf(args, "", slices.Collect(maps.Keys(clusterVerbs))...)
}

func (c *clusterCommand) flags(fs *flag.FlagSet) int {
	switch c.verb {
	case "void":
		fs.BoolVar(&c.yes, "yes", false, "skip it for good")
	case "remove":
		fs.BoolVar(&c.yes, "yes", false, "also if it runs")
	case "recover":
		fs.BoolVar(&c.yes, "yes", false, "import what is found, and go on")
		fs.Func("folder", "a further data folder to look at; may be given several times", func(path string) error {
			c.folders = append(c.folders, path)
			return nil
		})
	case "init":
		fs.StringVar(&c.advertise, "advertise", "", "name or IP address of this machine")
		fs.StringVar(&c.servers, "servers", "", "the other machines that keep the log, two or four, with commas between")
		fs.Func("recipient", "age recipient for whom the authority's key is encrypted", func(text string) error { c.recipients = append(c.recipients, text); return nil })
		fs.BoolVar(&c.renewing, "renew-authority", false, "make another authority")
	case "verify":
		fs.Func("urls", "URLs of the nodes, with commas between", func(text string) error { c.urls = strings.Split(text, ","); return nil })
		fs.DurationVar(&c.lasts, "for", 10*time.Minute, "how long it works")
		fs.Func("key-file", "file with a secret key that may write; may be given several times", func(path string) error { c.keyFiles = append(c.keyFiles, path); return nil })
	case "token":
		fs.StringVar(&c.joinListen, "join-listen", "", "HOST:PORT where machines are let in")
		fs.StringVar(&c.identity, "identity", "", "file with the age identity that opens the authority's key")
	case "join":
		fs.StringVar(&c.tokenFile, "token-file", "", "file with the token, - for stdin")
	}
	return clusterVerbs[c.verb]
}

func (c *clusterCommand) check() error {
	switch c.verb {
	case "":
		return errors.New("what about it? engramd cluster --help lists what there is")
	case "verify":
		return verifiable(c.urls, c.lasts)
	case "remove":
		if len(c.operands) == 0 {
			return errors.New("name the NODE")
		}
	case "token":
		if len(c.operands) == 0 || c.operands[0] == "revoke" && len(c.operands) == 1 {
			return errors.New("name the machines")
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
		return errors.New("a number is missing")
	}
	if c.number, err = strconv.ParseUint(operands[0], 10, 63); err != nil || c.number == 0 {
		return fmt.Errorf("%q is no number from 1 on", operands[0])
	}
	if len(operands) > 1 {
		if c.index, err = strconv.Atoi(operands[1]); err != nil || c.index < 0 {
			return fmt.Errorf("%q is no index from 0 on", operands[1])
		}
	}
	if c.verb == "void" && !c.yes {
		return errors.New("what is skipped is lost on every node: add --yes if the log of a stopped node names this message")
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
		return fmt.Errorf("this data folder is node %s of cluster %s already: engramd cluster leave takes it out", id.Node, id.Cluster)
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
		return fmt.Errorf("the log %s has messages already: a further node joins it (engramd cluster join); another cluster needs another cluster.stream", c.cfg.Cluster.Stream)
	}
	id := membership.New()
	if err := id.Save(c.cfg.Data); err != nil {
		return err
	}
	if err := membership.Begin(ctx, conn, id, c.cfg); err != nil {
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
		fmt.Fprintf(c.Stdout, "%d bytes of the database are here already: the rest is fetched\n", here)
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
