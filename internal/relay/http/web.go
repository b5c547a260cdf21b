package relayhttp

import (
	"net/http"
	"strings"
)

// Web is the owner's page: files that are the same for all who ask.
type Web interface {
	// ServePage answers a request for the file of that name, "" for the page.
	ServePage(w http.ResponseWriter, r *http.Request, name string)
	// Moved answers a request for the folder without its last slash.
	Moved(w http.ResponseWriter, r *http.Request)
}

// folder is where the owner's page is.
const folder = "/app"

// serveWeb adds the owner's page, also behind the paths that the relay has in its
// public URLs. It comes last: where a public URL has the same path, the relay is
// there.
func (h *Handler) serveWeb(urls []string) {
	for _, base := range basePaths(urls) {
		at := base + folder
		h.webRoute(at+"/", func(w http.ResponseWriter, r *http.Request) {
			h.web.ServePage(w, r, strings.TrimPrefix(r.URL.Path, at+"/"))
		})
		h.webRoute(at, h.web.Moved)
	}
}

// webRoute adds a file, or all below a folder. They are at hand, so that nobody
// waits for a place; whoever is blocked has none of them.
func (h *Handler) webRoute(pattern string, serve http.HandlerFunc) {
	h.handle(pattern, func(w http.ResponseWriter, r *http.Request) {
		h.in.counted(w, "app", func(w *statusWriter) {
			if err := h.in.blocked(r); err != nil {
				refusedFor(r, err)
				h.in.answerProblem(w, err)
				return
			}
			serve(w, r)
		})
	})
}

// webPath is where a browser that is at the relay's own URL finds the owner's
// page: relative, so that it holds behind a proxy that takes a path away.
func (d *documents) webPath(r *http.Request) string {
	if !d.web {
		return ""
	}
	at := strings.TrimPrefix(folder, "/") + "/"
	if last := r.URL.Path[strings.LastIndexByte(r.URL.Path, '/')+1:]; last != "" {
		return "./" + last + "/" + at
	}
	return at
}
