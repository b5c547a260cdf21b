// Package web serves the web page of this program: engramctl web.
package web

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"engramd/internal/cli/cliutil"
	"engramd/internal/cli/exit"
	"engramd/internal/web"
)

// webListen is where the owner's page is, unless somebody says otherwise. A
// browser keeps the page's settings by its port.
const webListen = "127.0.0.1:7449"

// New returns engramctl web.
func New(env *cliutil.Env) *cobra.Command {
	var o struct {
		save, listen string
		sum, noOpen  bool
	}
	c := env.Command(&cobra.Command{
		Use:   "web [--no-open] [--save FILE] [--sha256] [--listen HOST:PORT]",
		Short: "Show the owner's page from this machine, or save it as one file",
		Long: `Show the page on which an owner reads in the browser what the agents remember. The
same page is at /app/ of every relay; but whoever serves a page can read a key that is
pasted into it, and this one comes from here.

Without flags it is served on a loopback port until the command is ended, names the
relays of --relay, ENGRAM_RELAYS or the profile, and opens in the browser. Where the
owner's key is beside the configuration, encrypted (engramctl setup --new-owner), or is
the profile's own, the page gets it once, still encrypted: it asks for the password only,
and opens the agent. The browser is led there by a file of this user alone, in
XDG_RUNTIME_DIR; one that does not read it within 5 seconds, and a machine without a
display, get a code to type. --no-open opens nothing. --save writes it as one file, which a
browser opens from disk; there you name the relays yourself, because its bytes are those
of the release: --sha256 prints their SHA-256, which docs/page.md names too.

No key in plain text is handed over and no relay is asked: the page does that, in the
browser.`,
		Example: `  engramctl web
  engramctl web --save page.html --sha256`,
	}, func(ctx context.Context, _ []string) error {
		if o.save == "" && !o.sum {
			return serveWeb(ctx, env, o.listen, !o.noOpen)
		}
		name := "page.html"
		if o.save != "" {
			name = o.save
			if err := cliutil.WriteNew(env.Path(o.save), func(w io.Writer) error { _, err := w.Write(web.Whole()); return err }); err != nil {
				return exit.BadUsage(err)
			}
		}
		if o.sum {
			return env.Print("%s  %s\n", web.Sum(), name)
		}
		return env.Print("saved %s\n", name)
	})
	f := c.Flags()
	f.StringVar(&o.save, "save", "", "write the page into this new `file`")
	f.BoolVar(&o.sum, "sha256", false, "print the SHA-256 of the page in one file")
	f.StringVar(&o.listen, "listen", webListen, "loopback `address` to serve it on; port 0 picks a free one")
	f.BoolVar(&o.noOpen, "no-open", false, "open no browser")
	c.MarkFlagsMutuallyExclusive("save", "listen")
	c.MarkFlagsMutuallyExclusive("sha256", "listen")
	return c
}

// serveWeb serves the page until ctx ends.
func serveWeb(ctx context.Context, env *cliutil.Env, listen string, open bool) error {
	if !loopbackHost(listen) {
		return exit.Usagef("--listen: %q is no address of this machine alone, such as %s", listen, webListen)
	}
	s, err := env.Settings()
	if err != nil {
		return err
	}
	keys, err := handoverOf(ctx, env, s)
	if err != nil {
		env.Note("the page does not get the owner's key: %v", err)
	}
	var lc net.ListenConfig
	l, err := lc.Listen(ctx, "tcp", listen)
	if err != nil {
		return fmt.Errorf("%w (--listen 127.0.0.1:0 takes a free port)", err)
	}
	server := &http.Server{
		Handler: webHandler(web.New(web.About{URLs: s.Relays, Version: "engramctl " + env.Version, Unlock: keys != nil}), keys), ReadHeaderTimeout: 10 * time.Second,
		ReadTimeout: 30 * time.Second, WriteTimeout: 30 * time.Second, IdleTimeout: time.Minute, MaxHeaderBytes: 16 << 10,
	}
	stop := context.AfterFunc(ctx, func() { _ = server.Close() }) // Serve says how it ended
	defer stop()
	url := fmt.Sprintf("http://%s/app/", l.Addr())
	if err := env.Print("%s\n", url); err != nil {
		return errors.Join(err, l.Close())
	}
	if len(s.Relays) == 0 {
		env.Note("no relay is configured: name them on the page")
	}
	var running sync.WaitGroup
	defer running.Wait() // it takes its file away
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	running.Go(func() {
		if err := opening(ctx, env, url, open, keys); err != nil {
			env.Note("the page is not opened: %v", err)
		}
	})
	if err := server.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// webHandler serves the page at /app/, to browsers that know this machine by its
// own name: a name of somebody else's that leads here would make the page theirs.
func webHandler(p *web.Page, keys *handover) http.Handler {
	const folder = "/app/"
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch name, below := strings.CutPrefix(r.URL.Path, folder); {
		case !loopbackHost(r.Host):
			http.Error(w, "ask for 127.0.0.1", http.StatusMisdirectedRequest)
		case below && name == "unlock" && keys != nil:
			keys.ServeHTTP(w, r)
		case below:
			p.ServePage(w, r, name)
		case r.URL.Path == strings.TrimSuffix(folder, "/"):
			p.Moved(w, r)
		case r.URL.Path == "/":
			http.Redirect(w, r, folder, http.StatusFound)
		default:
			http.NotFound(w, r)
		}
	})
}

// loopbackHost reports whether a host, with its port or without, is this machine
// alone.
func loopbackHost(address string) bool {
	host := address
	if h, _, err := net.SplitHostPort(address); err == nil {
		host = h
	}
	if strings.EqualFold(host, "localhost") {
		return true
	}
	ip, err := netip.ParseAddr(strings.Trim(host, "[]"))
	return err == nil && ip.Unmap().IsLoopback()
}
