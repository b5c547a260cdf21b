package relayhttp

import (
	"encoding/base64"
	"net/http"
	"strings"
	"testing"

	"github.com/nbd-wtf/go-nostr"
)

const anything = `[{"kinds":[1]}]`

// setTag replaces the first tag of the name, or adds it.
func setTag(name string, values ...string) func(*nostr.Event) {
	return func(ev *nostr.Event) {
		tag := append(nostr.Tag{name}, values...)
		for i := range ev.Tags {
			if ev.Tags[i][0] == name {
				ev.Tags[i] = tag
				return
			}
		}
		ev.Tags = append(ev.Tags, tag)
	}
}

func addTag(values ...string) func(*nostr.Event) {
	return func(ev *nostr.Event) { ev.Tags = append(ev.Tags, values) }
}

func dropTag(name string) func(*nostr.Event) {
	return func(ev *nostr.Event) {
		var kept nostr.Tags
		for _, tag := range ev.Tags {
			if tag[0] != name {
				kept = append(kept, tag)
			}
		}
		ev.Tags = kept
	}
}

func later(seconds int) func(*nostr.Event) {
	return func(ev *nostr.Event) { ev.CreatedAt += nostr.Timestamp(seconds) }
}

// TestSignature goes through every check of NIP-98.
func TestSignature(t *testing.T) {
	w := newWorld(t)
	broken := func(change func(*nostr.Event)) func(*nostr.Event) {
		return func(ev *nostr.Event) {
			if err := ev.Sign(agent.Secret); err != nil {
				t.Fatal(err)
			}
			change(ev)
		}
	}
	wrong := strings.Repeat("0", 64)
	for _, tt := range []struct {
		name   string
		change func(*nostr.Event)
		want   string // part of the error; "" means that it is taken
	}{
		{"as it should be", func(*nostr.Event) {}, ""},
		{"a nonce and other tags", func(ev *nostr.Event) { addTag("nonce", "5c3b")(ev); addTag("x")(ev) }, ""},
		{"a content", func(ev *nostr.Event) { ev.Content = "hello" }, ""},
		{"another kind", func(ev *nostr.Event) { ev.Kind = 22242 }, "kind 22242, not 27235"},
		{"a wrong id", broken(func(ev *nostr.Event) { ev.ID = wrong }), "id does not match"},
		{"a wrong signature", broken(func(ev *nostr.Event) { ev.Sig = wrong + wrong }), "signature is not valid"},
		{"another pubkey", broken(func(ev *nostr.Event) { ev.PubKey = owner.Pub }), "id does not match"},
		{"changed after signing", broken(func(ev *nostr.Event) { ev.Tags[0][1] += "x" }), "id does not match"},
		{"a minute old", later(-60), ""},
		{"a minute early", later(60), ""},
		{"too old", later(-61), "where it is 1700000000 (2023-11-14T22:13:20Z)"},
		{"too early", later(61), "where it is 1700000000"},
		{"of 1970", func(ev *nostr.Event) { ev.CreatedAt = 0 }, "off this relay's clock"},
		{"of the end of time", func(ev *nostr.Event) { ev.CreatedAt = 1<<63 - 1 }, "off this relay's clock"},
		{"no u", dropTag("u"), "no u tag"},
		{"two u", addTag("u", "https://relay.example/nostr/query"), "several u tags"},
		{"a bare u", setTag("u"), "another URL"},
		{"upper case, port and slash in u", setTag("u", "HTTPS://Relay.Example:443/nostr/query/"), ""},
		{"another relay", setTag("u", "https://evil.example/nostr/query"), "another URL than https://relay.example/nostr/query"},
		{"the Host header's name", setTag("u", "http://whatever.example/query"), "another URL"},
		{"another endpoint", setTag("u", "https://relay.example/nostr/count"), "another URL"},
		{"without the relay's path", setTag("u", "https://relay.example/query"), "another URL"},
		{"http for https", setTag("u", "http://relay.example/nostr/query"), "another URL"},
		{"wss for https", setTag("u", "wss://relay.example/nostr/query"), "another URL"},
		{"loopback for a public relay", setTag("u", "http://127.0.0.1:7447/query"), "another URL"},
		{"a query that is not there", setTag("u", "https://relay.example/nostr/query?a=b"), "another query string"},
		{"no method", dropTag("method"), "method tag must be POST"},
		{"another method", setTag("method", "GET"), "method tag must be POST"},
		{"lower case", setTag("method", "post"), ""},
		{"two methods", addTag("method", "POST"), "several method tags"},
		{"no payload", dropTag("payload"), "no payload tag"},
		{"another payload", setTag("payload", wrong), "not the SHA-256"},
		{"an empty payload", setTag("payload", ""), "not the SHA-256"},
		{"a bare payload", setTag("payload"), "not the SHA-256"},
		{"two payloads", addTag("payload", wrong), "several payload tags"},
	} {
		rec := w.do("POST", "/query", []byte(anything), "Authorization", w.sign(agent, "POST", "/query", []byte(anything), tt.change))
		if tt.want == "" {
			wantIDs(t, tt.name, rec)
			continue
		}
		wantProblem(t, tt.name, rec, 401, "auth-required: ")
		if !strings.Contains(rec.Body.String(), tt.want) {
			t.Errorf("%s: %s, want %q", tt.name, rec.Body, tt.want)
		}
	}
}

// TestAuthorizationHeader: what is around the event.
func TestAuthorizationHeader(t *testing.T) {
	w := newWorld(t)
	good := w.sign(agent, "POST", "/query", []byte(anything))
	event := strings.TrimPrefix(good, "Nostr ")
	raw, err := base64.StdEncoding.DecodeString(event)
	if err != nil {
		t.Fatal(err)
	}
	again := func(e *base64.Encoding, raw string) string { return "Nostr " + e.EncodeToString([]byte(raw)) }
	for _, tt := range []struct {
		name   string
		values []string
		want   string
	}{
		{"good", []string{good}, ""},
		{"scheme in lower case, two spaces", []string{"nostr  " + event}, ""},
		{"none", nil, "no Authorization header"},
		{"empty", []string{""}, "none of NIP-98"},
		{"the scheme alone", []string{"Nostr"}, "none of NIP-98"},
		{"basic", []string{"Basic dXNlcjpwYXNz"}, "none of NIP-98"},
		{"bearer", []string{"Bearer " + event}, "none of NIP-98"},
		{"no scheme", []string{event}, "none of NIP-98"},
		{"twice", []string{good, good}, "several Authorization headers"},
		{"two in one", []string{good + ", " + good}, "not standard base64"},
		{"a stray character", []string{"Nostr " + event + "!"}, "not standard base64"},
		{"URL alphabet", []string{"Nostr -_-_"}, "not standard base64"},
		{"without its padding", []string{again(base64.RawStdEncoding, string(raw)+strings.Repeat(" ", 1+(3-len(raw)%3)))}, "not standard base64"},
		{"not JSON", []string{again(base64.StdEncoding, "hello")}, "no event"},
		{"an array", []string{again(base64.StdEncoding, "["+string(raw)+"]")}, "no event"},
		{"a member twice", []string{again(base64.StdEncoding, `{"kind":27235,`+string(raw[1:]))}, `duplicate member \"kind\"`},
		{"trailing data", []string{again(base64.StdEncoding, string(raw)+"{}")}, "trailing data"},
		{"invalid UTF-8", []string{again(base64.StdEncoding, `{"x":"`+"\xff"+`",`+string(raw[1:]))}, "no event"},
		{"as long as it may be", []string{again(base64.StdEncoding, string(raw)+strings.Repeat(" ", maxAuthorization*3/4-len(raw)))}, ""},
		{"too long", []string{again(base64.StdEncoding, string(raw)+strings.Repeat(" ", maxAuthorization*3/4-len(raw)+1))}, "over 8192 bytes"},
	} {
		var header []string
		for _, v := range tt.values {
			header = append(header, "Authorization", v)
		}
		rec := w.do("POST", "/query", []byte(anything), header...)
		if tt.want == "" {
			wantIDs(t, tt.name, rec)
			continue
		}
		wantProblem(t, tt.name, rec, 401, "auth-required: ")
		if !strings.Contains(rec.Body.String(), tt.want) {
			t.Errorf("%s: %s, want %q", tt.name, rec.Body, tt.want)
		}
	}
}

// TestSignatureWithoutABody: a payload tag is not needed where there is no
// body, and is checked all the same.
func TestSignatureWithoutABody(t *testing.T) {
	const path = "/history?kind=30174&author="
	const empty = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
	w := newWorld(t)
	for name, tt := range map[string]struct {
		change func(*nostr.Event)
		status int
	}{
		"none":           {func(*nostr.Event) {}, 200},
		"of nothing":     {setTag("payload", empty), 200},
		"of something":   {setTag("payload", strings.Repeat("0", 64)), 401},
		"empty":          {setTag("payload", ""), 401},
		"another query":  {setTag("u", w.url+path+owner.Pub), 401},
		"query reversed": {setTag("u", w.url+"/history?author="+agent.Pub+"&kind=30174"), 401},
		"query escaped":  {setTag("u", w.url+"/history?kind=%330174&author="+agent.Pub), 401},
	} {
		at := path + agent.Pub
		if rec := w.do("GET", at, nil, "Authorization", w.sign(agent, "GET", at, nil, tt.change)); rec.Code != tt.status {
			t.Errorf("%s: %d %s, want %d", name, rec.Code, rec.Body, tt.status)
		}
	}
}

// TestWindow: a signature is good for a minute on either side of its time.
func TestWindow(t *testing.T) {
	w := newWorld(t)
	for seconds, status := range map[int]int{-61: 401, -60: 200, 60: 200, 61: 401} {
		rec := w.do("POST", "/query", []byte(anything), "Authorization", w.sign(agent, "POST", "/query", []byte(anything), later(seconds)))
		if rec.Code != status {
			t.Errorf("%d s: %d", seconds, rec.Code)
		}
	}
}

// TestHostAndForwardedNamesDoNotCount: a signature for another relay is none
// here, whatever the client or a proxy calls us.
func TestHostAndForwardedNamesDoNotCount(t *testing.T) {
	w := newWorld(t)
	body := []byte(anything)
	forged := authorization(agent, w.clock.Now(), "POST", "https://evil.example/nostr/query", body)
	for _, header := range [][]string{
		nil, {"X-Forwarded-Host", "evil.example", "X-Forwarded-Proto", "https"}, {"Forwarded", "host=evil.example;proto=https"},
		{"X-Original-URL", "https://evil.example/nostr/query"}, {"Origin", "https://evil.example"},
	} {
		wantProblem(t, "signed for another relay", w.do("POST", "/query", body, append(header, "Authorization", forged)...), 401, "auth-required: the u tag names another URL")
		good := w.do("POST", "/query", body, append(header, "Authorization", w.sign(agent, "POST", "/query", body))...)
		wantIDs(t, "signed for this relay", good)
	}
}

// TestPathsOfPublicURLs: a proxy may pass the path of the public URL on, or
// not. The signature is for the public URL in both cases.
func TestPathsOfPublicURLs(t *testing.T) {
	w := newWorld(t)
	body := []byte(anything)
	header := []string{"Authorization", w.sign(agent, "POST", "/query", body)}
	for path, status := range map[string]int{
		"/query": 200, "/nostr/query": 200, "/nostr/query/": 404, "/query/": 404, "/nostr/nostr/query": 404, "/other/query": 404,
		"//query": 404, "/nostr//query": 404, "/x/../query": 404, "/%71uery": 200,
	} {
		if rec := w.do(http.MethodPost, path, body, header...); rec.Code != status || rec.Header().Get("Location") != "" {
			t.Errorf("%s: %d, want %d", path, rec.Code, status)
		}
	}
	clash := newWorld(t, func(o *Options) {
		o.URLs = []string{"wss://a.example/query", "wss://a.example/x", "wss://a.example/x/query/"}
	})
	if rec := clash.do(http.MethodPost, "/query", body, header...); rec.Code != 200 {
		t.Errorf("a public URL with the path of an endpoint: %d", rec.Code)
	}
}
