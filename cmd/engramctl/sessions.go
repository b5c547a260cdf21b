package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"
	"time"

	"engramd/internal/agent/mcp"
	"engramd/internal/memory/project"
	memorystate "engramd/internal/memory/state"
)

// maxSession is how long a session's id is kept as the harness gives it.
const maxSession = 64

// sessionName is a session's id as it is kept and stamped: one of letters,
// digits and a few marks stays, and another is hashed.
func sessionName(id string) string {
	odd := strings.ContainsFunc(id, func(r rune) bool {
		return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("._-", r))
	})
	if id == "" || len(id) <= maxSession && !odd {
		return id
	}
	sum := sha256.Sum256([]byte(id))
	return hex.EncodeToString(sum[:8])
}

// serveSession has a server stamp the session of the harness that it runs in,
// where that is known, and count what is written in it.
func (a *app) serveSession(ctx context.Context, state *memorystate.State, o *mcp.Options) {
	v := memorystate.Server{Session: sessionName(a.Vars["CLAUDE_CODE_SESSION_ID"]), Ancestors: idsOf(a.ancestors())}
	s, err := standingOf(ctx, state, a.folder())
	if v.Folder = s.Folder; err == nil && (s.linked || s.Remote != "") {
		o.Project = project.Prefix + s.Name
	}
	if err := state.Sessions.Serve(ctx, v); err != nil {
		o.Log.Warn("which session this is may not be known to hooks", "error", err)
	}
	served := func(ctx context.Context) (memorystate.Session, bool) {
		s, ok, err := state.Sessions.Serves(ctx, v)
		if err != nil {
			o.Log.Warn("which session this is is not known", "error", err)
		}
		return s, ok && s.ID != ""
	}
	o.Current = func(ctx context.Context) string {
		s, _ := served(ctx)
		return s.ID
	}
	o.Wrote = func(ctx context.Context, slugs []string) {
		one, ok := served(ctx)
		if !ok {
			return
		}
		links := ""
		if one.Folder != "" && slices.ContainsFunc(slugs, func(slug string) bool { return project.Own(slug, one.Project) }) {
			links = writeLinks(ctx, state, o, one.Folder, slugs)
		}
		if err := state.Sessions.Wrote(ctx, one.ID, func(string) string { return links }); err != nil {
			o.Log.Warn("a write is not counted", "error", err)
		}
	}
}

// startName is what a server stamps that knows no session of a harness: when it
// began.
func startName(at time.Time) string { return at.UTC().Format("20060102T150405.000Z") }
