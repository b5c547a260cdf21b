// Package web is the owner's page: files that a browser runs, made by `make web`
// from the sources in src and kept in dist. It decrypts in the browser what agents
// remember, with the owner's key or signer (docs/page.md). The daemon serves the
// files below /app/, `engramctl web` on a loopback port or as one file.
//
// There is nothing here that reads a memory: every file is the same for all who
// ask. Files with a hash in their name never change; the page itself is asked for
// anew each time.
package web

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"encoding/json"
	"io/fs"
	"net/http"
	"path"
	"regexp"
	"strings"
	"time"
)

//go:embed dist
var dist embed.FS

// Names of what is not a part of the page with a hash in its name.
const (
	indexName  = "index.html" // the page, at the folder itself
	wholeName  = "page.json"  // of what the page in one file is made; it is not served
	relaysName = "relay.json"
)

// Policy is the content security policy of the served page. connect-src is
// narrowed by the page itself, before anything is decrypted.
const Policy = "default-src 'none'; script-src 'self'; style-src 'self'; worker-src 'self'; connect-src 'self' https: wss: http: ws:; " +
	"img-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types engramd-worker"

// partPolicy is that of every other file: the Worker reaches nothing, and a part
// that is opened by itself runs nothing.
const partPolicy = "default-src 'none'; frame-ancestors 'none'"

// hashed is a name with the beginning of its content's SHA-256.
var hashed = regexp.MustCompile(`^[a-z]+-([0-9a-f]{20})\.(?:js|css|svg)$`)

var types = map[string]string{
	".html": "text/html; charset=utf-8", ".js": "text/javascript; charset=utf-8", ".css": "text/css; charset=utf-8",
	".svg": "image/svg+xml", ".txt": "text/plain; charset=utf-8", ".json": "application/json",
}

// file is one that is served.
type file struct {
	name string
	body []byte
	tag  string // of the content, quoted
}

// Page serves the owner's page. Make one with New.
type Page struct{ files map[string]file }

// About is what relay.json says beside the page.
type About struct {
	URLs    []string `json:"urls"`    // ws:// and wss:// URLs of relays that the page begins with
	Version string   `json:"version"` // who serves it
	// Unlock says that who serves it hands the owner's encrypted key over, for a code.
	Unlock bool `json:"unlock,omitempty"`
}

// New returns the page as a relay, or engramctl, serves it.
func New(about About) *Page {
	p := &Page{files: map[string]file{}}
	entries, err := fs.ReadDir(dist, "dist")
	if err != nil {
		panic(err) // it is part of the program
	}
	for _, entry := range entries {
		if name := entry.Name(); name != wholeName {
			p.add(name, read(name))
		}
	}
	about.URLs = append([]string{}, about.URLs...)
	text, err := json.Marshal(about)
	if err != nil {
		panic(err) // texts always encode
	}
	p.add(relaysName, append(text, '\n'))
	return p
}

func (p *Page) add(name string, body []byte) {
	sum := sha256.Sum256(body)
	p.files[name] = file{name, body, `"` + hex.EncodeToString(sum[:16]) + `"`}
}

// piece is a part of the page in one file: a text, or a span of another file, in
// bytes.
type piece struct {
	Text, File string
	From, To   int  // To 0: to its end
	Quoted     bool // as a string of JavaScript
}

var quote = strings.NewReplacer(`\`, `\\`, "'", `\'`, "\n", `\n`)

// Whole returns the page in one file, put together of what is served.
func Whole() []byte {
	var pieces []piece
	if err := json.Unmarshal(read(wholeName), &pieces); err != nil {
		panic(err) // it is part of the program, and tested
	}
	var out bytes.Buffer
	for _, p := range pieces {
		text := p.Text
		if p.File != "" {
			body := read(p.File)
			text = string(body[p.From:cmp.Or(p.To, len(body))])
		}
		if p.Quoted {
			text = quote.Replace(text)
		}
		out.WriteString(text)
	}
	return out.Bytes()
}

// Sum returns the SHA-256 of the page in one file, 64 hex digits.
func Sum() string {
	sum := sha256.Sum256(Whole())
	return hex.EncodeToString(sum[:])
}

func read(name string) []byte {
	body, err := dist.ReadFile(path.Join("dist", name))
	if err != nil {
		panic(err) // it is part of the program, and tested
	}
	return body
}

// ServePage answers a request for the file of that name, "" for the page itself.
// It allows no other origin anything, not even to read an error.
func (p *Page) ServePage(w http.ResponseWriter, r *http.Request, name string) {
	hdr := w.Header()
	hdr.Set("X-Content-Type-Options", "nosniff")
	hdr.Set("Cross-Origin-Opener-Policy", "same-origin")
	hdr.Set("Cross-Origin-Resource-Policy", "same-origin")
	hdr.Set("Referrer-Policy", "no-referrer")
	hdr.Set("X-Frame-Options", "DENY")
	hdr.Set("Content-Security-Policy", partPolicy)
	if name == "" {
		name = indexName
	} else if name == indexName {
		name = "/" // the page has one address
	}
	f, ok := p.files[name]
	switch {
	case !ok:
		refuse(w, http.StatusNotFound, "invalid: there is nothing at this path")
	case r.Method != http.MethodGet && r.Method != http.MethodHead:
		hdr.Set("Allow", "GET, HEAD")
		refuse(w, http.StatusMethodNotAllowed, "invalid: this path is read with GET")
	default:
		f.serve(w, r)
	}
}

func (f file) serve(w http.ResponseWriter, r *http.Request) {
	hdr := w.Header()
	hdr.Set("Content-Type", types[path.Ext(f.name)])
	hdr.Set("ETag", f.tag)
	hdr.Set("Cache-Control", "no-cache")
	if hashed.MatchString(f.name) {
		hdr.Set("Cache-Control", "public, max-age=31536000, immutable")
	}
	if f.name == indexName {
		hdr.Set("Content-Security-Policy", Policy)
	}
	http.ServeContent(w, r, f.name, time.Time{}, bytes.NewReader(f.body))
}

// Moved sends a browser from the folder's name to the folder, below whatever path
// a proxy may have taken away.
func (p *Page) Moved(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		w.Header().Set("Allow", "GET, HEAD")
		refuse(w, http.StatusMethodNotAllowed, "invalid: this path is read with GET")
		return
	}
	w.Header().Set("Location", path.Base(r.URL.Path)+"/")
	w.Header().Set("Cache-Control", "no-cache")
	w.WriteHeader(http.StatusPermanentRedirect)
}

func refuse(w http.ResponseWriter, status int, text string) {
	w.Header().Set("Content-Type", types[".json"])
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_, _ = w.Write([]byte(`{"error":"` + text + "\"}\n")) // a client that has gone needs no answer
}
