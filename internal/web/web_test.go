package web

import (
	"bytes"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"io/fs"
	"net/http/httptest"
	"os"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"

	"engramd/internal/e2e/golden"
)

var page = New(About{URLs: []string{"wss://relay.example/nostr"}, Version: "v1"})

func ask(method, name string, header ...string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, "/app/", nil)
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	w := httptest.NewRecorder()
	page.ServePage(w, r, name)
	return w
}

// parts returns the names of the files that are served, but the page itself.
func parts(t *testing.T) (all []string) {
	t.Helper()
	for name := range page.files {
		if name != indexName {
			all = append(all, name)
		}
	}
	if slices.Sort(all); len(all) < 6 {
		t.Fatalf("%v: the page lacks parts", all)
	}
	return all
}

// TestHeaders: what a browser may do with each file, and for how long it keeps it.
func TestHeaders(t *testing.T) {
	const policy = "default-src 'none'; script-src 'self'; style-src 'self'; worker-src 'self'; connect-src 'self' https: wss: http: ws:; img-src 'self'; " +
		"base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types engramd-worker"
	const once = "public, max-age=31536000, immutable"
	seen := map[string]int{}
	for _, name := range append(parts(t), "", "nothing.js") {
		want := map[string]string{
			"X-Content-Type-Options": "nosniff", "Cross-Origin-Opener-Policy": "same-origin", "Cross-Origin-Resource-Policy": "same-origin",
			"Referrer-Policy": "no-referrer", "X-Frame-Options": "DENY", "Access-Control-Allow-Origin": "", "Access-Control-Allow-Methods": "", "Set-Cookie": "",
			"Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'", "Cache-Control": "no-cache",
		}
		code := 200
		switch ext := path.Ext(name); {
		case name == "":
			want["Content-Security-Policy"], want["Content-Type"] = policy, "text/html; charset=utf-8"
		case name == "nothing.js":
			code, want["Cache-Control"], want["Content-Type"] = 404, "no-store", "application/json"
		case name == "relay.json":
			want["Content-Type"] = "application/json"
		case ext == ".txt":
			want["Content-Type"] = "text/plain; charset=utf-8"
		default:
			want["Cache-Control"], want["Content-Type"] = once, map[string]string{".js": "text/javascript; charset=utf-8", ".css": "text/css; charset=utf-8", ".svg": "image/svg+xml"}[ext]
		}
		for _, method := range []string{"GET", "HEAD"} {
			w := ask(method, name, "Origin", "https://other.example")
			if w.Code != code {
				t.Errorf("%s %q: %d, want %d", method, name, w.Code, code)
			}
			for header, value := range want {
				if got := w.Header().Get(header); got != value {
					t.Errorf("%s %q: %s is %q, want %q", method, name, header, got, value)
				}
			}
			if code == 200 && (w.Body.Len() == 0) != (method == "HEAD") {
				t.Errorf("%s %q: %d bytes", method, name, w.Body.Len())
			}
		}
		seen[path.Ext(name)]++
	}
	if seen[".js"] != 3 || seen[".css"] != 1 {
		t.Errorf("%v: an app, a Worker and one style sheet are served", seen)
	}
}

func TestMethods(t *testing.T) {
	for _, method := range []string{"POST", "PUT", "DELETE", "OPTIONS", "PATCH", "TRACE"} {
		if w := ask(method, ""); w.Code != 405 || w.Header().Get("Allow") != "GET, HEAD" || w.Header().Get("Access-Control-Allow-Origin") != "" {
			t.Errorf("%s: %d %v", method, w.Code, w.Header())
		}
		w := httptest.NewRecorder()
		if page.Moved(w, httptest.NewRequest(method, "/app", nil)); w.Code != 405 {
			t.Errorf("%s /app: %d", method, w.Code)
		}
	}
}

// TestMoved: the address holds behind a proxy that takes a path away.
func TestMoved(t *testing.T) {
	for _, at := range []string{"/app", "/relay/app", "/app?a=b"} {
		w := httptest.NewRecorder()
		page.Moved(w, httptest.NewRequest("GET", at, nil))
		if w.Code != 308 || w.Header().Get("Location") != "app/" {
			t.Errorf("%s: %d %v", at, w.Code, w.Header())
		}
	}
}

// TestNothingElseIsServed: names are looked up among the files of the page, so
// none leads out of its folder.
func TestNothingElseIsServed(t *testing.T) {
	for _, name := range []string{"index.html", "page.html", "page.json", "/", "..", "../web.go", "dist/index.html", "/index.html", "./index.html", `..\web.go`, "src/app.mjs", "%2e%2e/web.go", ".gitattributes", "relay.json/", "relay.json\x00"} {
		if w := ask("GET", name); w.Code != 404 {
			t.Errorf("%q: %d", name, w.Code)
		}
	}
}

func TestUnchangedIsNotSentAgain(t *testing.T) {
	tag := ask("GET", "").Header().Get("ETag")
	if w := ask("GET", "", "If-None-Match", tag); tag == "" || w.Code != 304 || w.Body.Len() > 0 {
		t.Errorf("%q: %d, %d bytes", tag, w.Code, w.Body.Len())
	}
	if w := ask("GET", "", "If-None-Match", `"other"`); w.Code != 200 {
		t.Error(w.Code)
	}
}

func TestRelaysAreNamed(t *testing.T) {
	var got struct {
		URLs    []string
		Version string
	}
	if err := json.Unmarshal(ask("GET", "relay.json").Body.Bytes(), &got); err != nil || got.Version != "v1" || !slices.Equal(got.URLs, []string{"wss://relay.example/nostr"}) {
		t.Errorf("%+v, %v", got, err)
	}
	if none := string(New(About{}).files[relaysName].body); none != `{"urls":[],"version":""}`+"\n" {
		t.Errorf("without relays: %s", none)
	}
}

// TestNamesAreHashes: a file that is kept for ever has its content's hash in its
// name, and the page names exactly these files, with their sums.
func TestNamesAreHashes(t *testing.T) {
	index := string(read(indexName))
	entries, err := fs.ReadDir(dist, "dist")
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range entries {
		name := entry.Name()
		m := hashed.FindStringSubmatch(name)
		if m == nil {
			if !slices.Contains([]string{indexName, wholeName, "licences.txt"}, name) {
				t.Errorf("%s has no hash in its name", name)
			}
			continue
		}
		sum := sha256.Sum256(read(name))
		if hex.EncodeToString(sum[:10]) != m[1] {
			t.Errorf("%s is not what its name says: make web", name)
		}
		switch in := index; {
		case strings.HasPrefix(name, "worker-"):
			for _, other := range entries {
				if strings.HasPrefix(other.Name(), "app-") {
					in = string(read(other.Name()))
				}
			}
			fallthrough
		default:
			if !strings.Contains(in, name) {
				t.Errorf("nothing names %s", name)
			}
		}
		if strings.HasPrefix(name, "app-") || strings.HasPrefix(name, "style-") {
			sum := sha512.Sum384(read(name))
			if !strings.Contains(index, name+`" integrity="sha384-`+base64.StdEncoding.EncodeToString(sum[:])+`"`) {
				t.Errorf("the page does not say what is in %s", name)
			}
		}
	}
}

// TestPolicyOfTheWholePage: in the one file the policy stands before all else
// that counts, and allows its one script and its one style, by their hashes.
func TestPolicyOfTheWholePage(t *testing.T) {
	whole := string(Whole())
	hashOf := func(element string) string {
		t.Helper()
		all := regexp.MustCompile(`(?s)<`+element+`(?: type="module")?>(.*?)</`+element+`>`).FindAllStringSubmatch(whole, -1)
		if len(all) != 1 {
			t.Fatalf("%d elements %s", len(all), element)
		}
		sum := sha256.Sum256([]byte(all[0][1]))
		return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
	}
	want := `<meta http-equiv="Content-Security-Policy" content="default-src 'none'; script-src ` + hashOf("script") + "; style-src " + hashOf("style") +
		"; worker-src blob:; connect-src https: wss: http: ws:; base-uri 'none'; form-action 'none'; require-trusted-types-for 'script'; trusted-types engramd-worker\">"
	if !strings.HasPrefix(whole, "<!doctype html>\n<html lang=\"en\" translate=\"no\">\n<head>\n<meta charset=\"utf-8\">\n"+want+"\n") {
		t.Errorf("the page does not begin with %s", want)
	}
	for _, name := range parts(t) {
		if strings.Contains(whole, name) && name != relaysName {
			t.Errorf("the one file names %s", name)
		}
	}
	if !strings.Contains(whole, string(read("licences.txt"))) {
		t.Error("the one file lacks the licences of what is in it")
	}
}

// TestPagesCarryNothingInline: the served page has no script or style of its own,
// no handler and no address elsewhere; both have one title and are not translated.
func TestPagesCarryNothingInline(t *testing.T) {
	served := read(indexName)
	if m := regexp.MustCompile(`(?i)<style|<script[^>]*>[^<]|\son[a-z]+=|\sstyle=|https?:|[^ ]javascript:`).Find(served); m != nil {
		t.Errorf("the page holds %q", m)
	}
	for _, html := range [][]byte{served, Whole()} {
		for _, want := range []string{`translate="no"`, "<title>Owner's page</title>", `<meta name="referrer" content="no-referrer">`, "<noscript>"} {
			if bytes.Count(html, []byte(want)) < 1 {
				t.Errorf("the page lacks %s", want)
			}
		}
	}
}

func TestLicences(t *testing.T) {
	licences := string(read("licences.txt"))
	for _, want := range []string{"== nostr-tools 2.25.2 (Unlicense)", "== @noble/curves 2.0.1 (MIT)", "== @noble/hashes 2.0.1 (MIT)", "== @noble/ciphers 2.1.1 (MIT)", "Permission is hereby granted"} {
		if !strings.Contains(licences, want) {
			t.Errorf("licences.txt lacks %q", want)
		}
	}
}

// TestWholeIsSmall: a page that grows much holds what it should not.
func TestWholeIsSmall(t *testing.T) {
	if n := len(Whole()); n > 400<<10 {
		t.Errorf("the page in one file has %d bytes", n)
	}
}

// TestGoldenSum: docs/page.md says which bytes the one file has, and what the
// policy is.
func TestGoldenSum(t *testing.T) {
	const file = "../../docs/page.md"
	doc, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	line := regexp.MustCompile(`(?m)^[0-9a-f]{64}  page\.html$`)
	if n := len(line.FindAll(doc, -1)); n != 1 {
		t.Fatalf("%s has the sum %d times", file, n)
	}
	golden.Check(t, file, line.ReplaceAllString(string(doc), Sum()+"  page.html"))
	if !bytes.Contains(doc, []byte("\n```\n"+Policy+"\n```\n")) {
		t.Error("docs/page.md has another policy")
	}
}
