package command

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"engramd/internal/platform/files"
	"engramd/internal/relay/config"
	"engramd/internal/relay/contracts/vault"
	"engramd/internal/relay/daemon/authority"
	"engramd/internal/relay/daemon/membership"
	"engramd/internal/relay/daemon/wiring"
	"engramd/internal/relay/keys"
	"engramd/internal/relay/store"
	"engramd/internal/relay/store/sqlite/engine"
	"engramd/internal/snapshot/bundle"
)

// clusterFolder is what init and join make in the data folder.
const clusterFolder = "cluster"

// setUp makes the authority of a new cluster, the first machine's folder, and the
// first node, which makes the log when its servers are there.
func (c *clusterCommand) setUp(ctx context.Context) error {
	hosts := append([]string{c.advertise}, strings.FieldsFunc(c.servers, func(r rune) bool { return r == ',' })...)
	if len(hosts) != 3 && len(hosts) != 5 {
		return wiring.Usage(errors.New("--servers: want two or four other machines: the log needs three servers, or five"))
	}
	for i, host := range hosts {
		if authority.CheckHost(host) != nil || slices.Contains(hosts[:i], host) {
			return wiring.Usage(fmt.Errorf("--servers %q: want names or IP addresses of different machines", host))
		}
	}
	data, err := filepath.Abs(c.cfg.Data)
	if err != nil {
		return err
	}
	to, err := bundle.ParseRecipients(c.recipients)
	if err != nil {
		return wiring.Usage(err)
	}
	m, a, err := founder(hosts, data, c.cfg)
	if err != nil {
		return err
	}
	if err := makeKeys(ctx, c); err != nil {
		return err
	}
	err = m.Write(func(dir string) error {
		if _, err := config.Load(config.Sources{File: filepath.Join(dir, authority.ConfigFile), Serve: true}); err != nil {
			return wiring.Usage(err)
		}
		return a.Save(filepath.Join(dir, authority.KeyFile), to)
	})
	if err != nil {
		return err
	}
	id := membership.New()
	if err := id.Save(data); err != nil {
		return err
	}
	names := strings.Join(hosts[1:], " ")
	fmt.Fprintf(c.Stdout, "cluster %s, node %s. Its files are in %s. %s lets machines join: keep it out of backups, or encrypt it with --recipient.\n"+
		"Start here:\n  nats-server -c %s\n  engramd serve --config %s\nLet the other machines join:\n  engramd cluster token --config %[6]s %[7]s\n",
		id.Cluster, id.Node, m.Dir, authority.KeyFile, filepath.Join(m.Dir, authority.NATSFile), filepath.Join(m.Dir, authority.ConfigFile), names)
	return nil
}

// founder makes what the first machine has.
func founder(hosts []string, data string, cfg *config.Config) (m authority.Machine, a *authority.Authority, err error) {
	if a, err = authority.New(); err != nil {
		return m, nil, err
	}
	m = authority.Machine{Dir: filepath.Join(data, clusterFolder), Data: data, Host: hosts[0], Options: config.OwnText(cfg) + config.SharedText(cfg)}
	m.Hosts, m.Stream, m.CA = hosts, cfg.Cluster.Stream, a.Certificate()
	if m.Cert, m.Key, err = a.Own(hosts[0]); err != nil {
		return m, nil, err
	}
	if m.Login, err = authority.NewLogin(); err != nil {
		return m, nil, err
	}
	m.System, err = authority.NewLogin()
	return m, a, err
}

// makeKeys makes the keys that the first start of a relay makes: who joins is given
// them, perhaps before that.
func makeKeys(ctx context.Context, c *clusterCommand) error {
	if _, err := os.Stat(engine.File(c.cfg.Data)); err == nil {
		return nil
	}
	if _, err := vault.Open(vault.Options{Setting: c.cfg.Contracts.MasterKey, Dir: c.cfg.Data, Env: wiring.Lookup(c.Env)}); err != nil {
		return err
	}
	_, err := keys.Open(ctx, wiring.RelayKeyOptions(c.cfg, c.Env), noRegister{})
	return err
}

// noRegister is the register of a relay that has no database yet.
type noRegister struct{ keys.Register }

func (noRegister) RelayKeys(context.Context) ([]store.RelayKey, error) { return nil, nil }
func (noRegister) SetRelayKey(context.Context, string, bool) error     { return nil }

// renew makes another authority on a member, where the one that there was is lost.
func (c *clusterCommand) renew() error {
	dir, err := c.folder()
	if err != nil {
		return err
	}
	to, err := bundle.ParseRecipients(c.recipients)
	if err != nil {
		return wiring.Usage(err)
	}
	old, err := os.ReadFile(c.cfg.Cluster.TLSCA)
	if err != nil {
		return err
	}
	a, err := authority.New()
	if err != nil {
		return err
	}
	if err := a.Save(filepath.Join(dir, authority.KeyFile), to); err != nil {
		return err
	}
	err = files.Replace(c.cfg.Cluster.TLSCA, []byte(a.Certificate()+string(old)))
	fmt.Fprintf(c.Stdout, "new authority: copy %s to the same place on the other machines, then restart their log servers and engramd, one machine at a time\n", c.cfg.Cluster.TLSCA)
	return err
}

// folder is that of this machine's files.
func (c *clusterCommand) folder() (string, error) {
	if c.cfg.Cluster.TLSCA == "" || c.cfg.Cluster.Name == "" {
		return "", wiring.Usage(errors.New("--config: want a configuration of engramd cluster init --advertise, or of join with a token"))
	}
	return filepath.Dir(c.cfg.Cluster.TLSCA), nil
}
