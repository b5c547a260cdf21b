package command

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"engramd/internal/relay/config"
	"engramd/internal/relay/contracts/vault"
	"engramd/internal/relay/daemon/authority"
	"engramd/internal/relay/daemon/membership"
	"engramd/internal/relay/daemon/wiring"
	"engramd/internal/relay/keys"
	"engramd/internal/relay/keys/keyfile"
)

// token opens tokens and the door that they are for, lists or revokes them.
func (c *clusterCommand) token(ctx context.Context) error {
	dir, err := c.folder()
	if err != nil {
		return err
	}
	book := authority.Book{Path: filepath.Join(dir, authority.TokensFile), Now: time.Now}
	switch names := c.operands; names[0] {
	case "ls":
		open, err := book.List(ctx)
		for _, e := range open {
			fmt.Fprintf(c.Stdout, "%s\t%s\tuntil %s\n", e.Hash[:16], e.Name, e.Until.Format(time.RFC3339))
		}
		return err
	case "revoke":
		for _, which := range names[1:] {
			if err := book.Revoke(ctx, which); err != nil {
				return fmt.Errorf("token revoke: no open token %q", which)
			}
		}
		return nil
	}
	return letIn(ctx, c, dir, book)
}

// letIn prints a token for each name, and lets them in.
func letIn(ctx context.Context, c *clusterCommand, dir string, book authority.Book) error {
	ids, err := wiring.IdentitiesFrom(c.identity)
	if err != nil {
		return wiring.Usage(err)
	}
	a, err := authority.Load(filepath.Join(dir, authority.KeyFile), ids)
	if err != nil {
		return err
	}
	if _, err := parcel(ctx, c); err != nil {
		return err
	}
	if slices.Contains(c.operands, c.cfg.Cluster.Name) {
		return wiring.Usage(errors.New("token: NAME is this machine"))
	}
	host, at := c.cfg.Cluster.Name, c.joinListen
	if at == "" {
		if at = net.JoinHostPort("", authority.DoorPort); net.ParseIP(host) != nil {
			at = net.JoinHostPort(host, authority.DoorPort)
		}
	}
	l, err := net.Listen("tcp", at)
	if err != nil {
		return err
	}
	_, port, _ := net.SplitHostPort(l.Addr().String()) // it is one
	for _, name := range c.operands {
		t := authority.Token{Door: net.JoinHostPort(host, port), Print: a.Print(), Name: name}
		if t.Secret, err = book.Add(ctx, name); err != nil {
			return errors.Join(err, l.Close())
		}
		defer book.Close(t.Secret)
		fmt.Fprintln(c.Stdout, t)
		fmt.Fprintf(c.Stderr, "The token of %s is valid once, for an hour. Run there: engramd cluster join --token-file FILE\n", name)
	}
	fmt.Fprintf(c.Stderr, "listening on %s until all tokens are used: keep this running\n", l.Addr())
	door := authority.Door{Authority: a, Host: host, Book: book, Give: func() (authority.Parcel, error) { return parcel(ctx, c) }}
	door.Tell = func(name string, err error) {
		if err == nil {
			fmt.Fprintf(c.Stderr, "%s joined\n", name)
			return
		}
		fmt.Fprintf(c.Stderr, "join refused: %v\n", err)
	}
	return errors.Join(door.Serve(ctx, l), context.Cause(ctx))
}

// parcel is what who joins is given, but for the certificate.
func parcel(ctx context.Context, c *clusterCommand) (p authority.Parcel, err error) {
	k := &c.cfg.Cluster
	p = authority.Parcel{Stream: k.Stream, Replicas: k.Replicas, Settings: config.SharedText(c.cfg), Keys: map[string]string{}}
	for _, one := range k.URLs {
		u, err := url.Parse(one)
		if err != nil {
			return p, err
		}
		p.Hosts = append(p.Hosts, u.Hostname())
	}
	if place, err := membership.PlaceOf(ctx, wiring.Database(c.cfg.Data)); err == nil && place.Configuration != "" {
		p.Settings = place.Configuration
	}
	read := func(into *string, path string) {
		text, failed := keyfile.Read(path)
		*into, err = string(text), errors.Join(err, failed)
	}
	ca, failed := os.ReadFile(k.TLSCA)
	p.CA, err = string(ca), failed
	read(&p.Login, k.Credentials)
	read(&p.System, k.SystemCredentials)
	for name, setting := range map[string]string{keys.FileName: c.cfg.RelayKey, vault.FileName: c.cfg.Contracts.MasterKey} {
		if setting == keys.Auto {
			setting = filepath.Join(c.cfg.Data, name)
		}
		if setting == vault.Never || strings.HasPrefix(setting, "env:") {
			continue // that is copied by whoever set it
		}
		var text string
		read(&text, setting)
		p.Keys[name] = text
	}
	return p, err
}

// tokenVariable has a token for join.
const tokenVariable = "ENGRAM_JOIN_TOKEN"

// given returns the token for join, from a file, stdin or the environment; "" for none.
func given(c *clusterCommand) (string, error) {
	var from io.Reader
	switch text, set := wiring.Lookup(c.Env)(tokenVariable); {
	case c.tokenFile == "" && set:
		return text, nil
	case c.tokenFile == "":
		return "", nil
	case c.tokenFile == "-":
		from = c.Stdin
	default:
		f, err := os.Open(c.tokenFile)
		if err != nil {
			return "", err
		}
		defer f.Close()
		from = f
	}
	text, err := io.ReadAll(io.LimitReader(from, 4<<10))
	return string(text), err
}
