package config

import (
	"flag"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"
)

// load reads a configuration from file text, environment and arguments.
func load(t *testing.T, file string, env []string, args ...string) (*Config, error) {
	t.Helper()
	fs := flag.NewFlagSet("test", flag.ContinueOnError)
	fs.SetOutput(io.Discard)
	flags := Register(fs)
	if err := fs.Parse(args); err != nil {
		t.Fatal(err)
	}
	src := Sources{Flags: flags, Env: env, Serve: true}
	if file != "" {
		src.File = filepath.Join(t.TempDir(), "engramd.toml")
		if err := os.WriteFile(src.File, []byte(file), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return Load(src)
}

func TestPrecedence(t *testing.T) {
	file := "listen = '127.0.0.1:1'\npublic_url = ['wss://file.example']\n[limits]\nsubscriptions = 3\n"
	for _, c := range []struct {
		name   string
		env    []string
		args   []string
		file   string
		listen string
		urls   []string
		subs   int
		origin string
	}{
		{name: "default", listen: "127.0.0.1:7447", subs: 64, origin: "default"},
		{name: "file", file: file, listen: "127.0.0.1:1", urls: []string{"wss://file.example"}, subs: 3, origin: "file "},
		{name: "environment", file: file, env: []string{"ENGRAMD_LISTEN=127.0.0.1:2", "ENGRAMD_LIMITS_SUBSCRIPTIONS=4", "ENGRAMD_PUBLIC_URL=wss://a.example, ws://b.example"},
			listen: "127.0.0.1:2", urls: []string{"wss://a.example", "ws://b.example"}, subs: 4, origin: "environment ENGRAMD_LISTEN"},
		{name: "flag", file: file, env: []string{"ENGRAMD_LISTEN=127.0.0.1:2", "ENGRAMD_LIMITS_SUBSCRIPTIONS=4"},
			args:   []string{"--listen", "127.0.0.1:3", "--limits-subscriptions=5", "--public-url", "wss://a.example", "--public-url", "wss://c.example"},
			listen: "127.0.0.1:3", urls: []string{"wss://a.example", "wss://c.example"}, subs: 5, origin: "flag --listen"},
		{name: "last flag counts", args: []string{"--listen", "127.0.0.1:3", "--listen", "127.0.0.1:4"}, listen: "127.0.0.1:4", subs: 64, origin: "flag --listen"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := load(t, c.file, c.env, c.args...)
			if err != nil {
				t.Fatal(err)
			}
			if got.Listen != c.listen || got.Limits.Subscriptions != c.subs || strings.Join(got.PublicURL, " ") != strings.Join(c.urls, " ") {
				t.Errorf("listen %s subscriptions %d urls %v", got.Listen, got.Limits.Subscriptions, got.PublicURL)
			}
			if o := got.Origin("listen"); !strings.HasPrefix(o, c.origin) {
				t.Errorf("origin %q, want %q", o, c.origin)
			}
		})
	}
}

func TestAnEmptyVariableEmptiesAList(t *testing.T) {
	got, err := load(t, "[write]\nkinds = [1, 2]\n", []string{"ENGRAMD_WRITE_KINDS="})
	if err != nil || len(got.Write.Kinds) != 0 {
		t.Errorf("kinds %v, err %v", got, err)
	}
}

func TestValues(t *testing.T) {
	const npub = "npub10elfcs4fr0l0r8af98jlmgdh9c8tcxjvz9qkw038js35mp4dma8qzvjptg"
	const key = "7e7e9c42a91bfef19fa929e5fda1b72e0ebc1a4c1141673e2794234d86addf4e"
	got, err := load(t, `
[write]
authors = ["`+npub+`", "`+strings.ToUpper(key)+`"]
kinds = [1, 30174]
[gate]
rules = ["4550 author,p ids", "30078 author"]
[limits]
message_bytes = "1MiB"
events_per_key = 0.5
events_per_address = "7.5/s, burst 9"
future = "1h30m"
[store]
max_bytes = 1_000_000
[proxy]
trusted = ["10.0.0.0/8", "::1", "192.168.1.9/24"]
`, nil, "--write-ban-kinds", "7,8", "--limits-loopback-exempt=false", "--metrics-pprof", "--gate-rules", "4550 author,p ids; 30078 author")
	if err != nil {
		t.Fatal(err)
	}
	check := func(what string, got, want any) {
		t.Helper()
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%s = %v, want %v", what, got, want)
		}
	}
	check("authors", got.Write.Authors, []string{key, key})
	check("kinds", got.Write.Kinds, []int{1, 30174})
	check("ban_kinds", got.Write.BanKinds, []int{7, 8})
	check("rules", got.Gate.Rules, []string{"4550 author,p ids", "30078 author"})
	check("message_bytes", got.Limits.MessageBytes, 1<<20)
	check("events_per_key", got.Limits.EventsPerKey, Rate{0.5, 100})
	check("events_per_address", got.Limits.EventsPerAddress, Rate{7.5, 9})
	check("future", got.Limits.Future, 90*time.Minute)
	check("max_bytes", got.Store.MaxBytes, int64(1000000))
	check("loopback_exempt", got.Limits.LoopbackExempt, false)
	check("pprof", got.MetricsPprof, true)
	check("trusted", got.Proxy.Trusted[2].String(), "192.168.1.0/24")
	check("trusted address", got.Proxy.Trusted[1].String(), "::1/128")
}

func TestErrorsNameTheirKey(t *testing.T) {
	for _, c := range []struct {
		name string
		file string
		env  []string
		args []string
		want []string
	}{
		{"unknown key, near", "[limits]\nsubscription = 3\n", nil, nil, []string{`unknown key "limits.subscription"`, `did you mean "limits.subscriptions"?`}},
		{"unknown key, other section", "[limits]\nban_kinds = [3]\n", nil, nil, []string{`"limits.ban_kinds"`, `"write.ban_kinds"`}},
		{"unknown key, nothing near", "zzz = 3\n", nil, nil, []string{`unknown key "zzz"`}},
		{"unknown section", "[nothing]\nat_all = 3\n", nil, nil, []string{`unknown key "nothing.at_all"`}},
		{"unknown empty section", "[limitz]\n", nil, nil, []string{`unknown key "limitz"`}},
		{"a table for an option", "[listen]\nhost = 'x'\n", nil, nil, []string{"listen", "have a table"}},
		{"an array of tables", "[[limits]]\nsubscriptions = 1\n", nil, nil, []string{`"limits"`}},
		{"wrong type", "[limits]\nsubscriptions = '3'\n", nil, nil, []string{"limits.subscriptions", "whole number", "have text"}},
		{"wrong type in a list", "[write]\nkinds = [1, 'a']\n", nil, nil, []string{"write.kinds", "entry 2"}},
		{"no list", "public_url = 'wss://a.example'\n", nil, nil, []string{"public_url", "want a list", "have text"}},
		{"syntax", "listen = \n", nil, nil, []string{"line 1"}},
		{"duplicate key", "listen = '127.0.0.1:1'\nlisten = '127.0.0.1:2'\n", nil, nil, []string{"line 2", "listen"}},
		{"unknown variable", "", []string{"ENGRAMD_GATE_WILDCRAD=reject"}, nil, []string{"ENGRAMD_GATE_WILDCRAD", "ENGRAMD_GATE_WILDCARD"}},
		{"bad variable", "", []string{"ENGRAMD_GATE_WILDCARD=open"}, nil, []string{"ENGRAMD_GATE_WILDCARD", "gate.wildcard", `"open"`, "reject, exclude"}},
		{"bad flag", "", nil, []string{"--limits-subscriptions", "0"}, []string{"--limits-subscriptions", "at least 1"}},
		{"too large", "", nil, []string{"--write-kinds", "65536"}, []string{"--write-kinds", "at most 65535"}},
		{"message bytes below an engram", "", nil, []string{"--limits-message-bytes", "65536"}, []string{"--limits-message-bytes", "at least 98304"}},
		{"size", "", nil, []string{"--store-max-bytes", "9999999999GiB"}, []string{"--store-max-bytes", "is not a size"}},
		{"duration", "", nil, []string{"--timeouts-shutdown", "30"}, []string{"--timeouts-shutdown", "not a duration"}},
		{"duration range", "", nil, []string{"--timeouts-shutdown", "1ms"}, []string{"not between 100ms and 10m"}},
		{"rate", "", nil, []string{"--limits-events-per-key", "-1"}, []string{"--limits-events-per-key"}},
		{"burst", "[limits]\nevents_per_key = '5/s, burst 0'\n", nil, nil, []string{"limits.events_per_key", "at least 1"}},
		{"burst without its word", "", nil, []string{"--limits-events-per-key", "5/s, 20"}, []string{"is not a rate such as"}},
		{"bool", "", nil, []string{"--web-enabled=maybe"}, []string{"--web-enabled", "neither true nor false"}},
		{"address", "", nil, []string{"--listen", "localhost"}, []string{"--listen", "HOST:PORT"}},
		{"port", "", nil, []string{"--listen", "localhost:99999"}, []string{"--listen", "port"}},
		{"empty data", "", nil, []string{"--data", ""}, []string{"--data", "empty"}},
		{"key", "", nil, []string{"--write-authors", "abc"}, []string{"--write-authors", "npub"}},
		{"mistyped npub", "", nil, []string{"--info-pubkey", "npub10elfcs4fr0l0r8af98jlmgdh9c8tcxjvz9qkw038js35mp4dma8qzvjptq"}, []string{"--info-pubkey", "checksum"}},
		{"network", "", nil, []string{"--proxy-trusted", "10.0.0.0/33"}, []string{"--proxy-trusted", "range"}},
		{"header", "", nil, []string{"--proxy-header", "X Forwarded"}, []string{"--proxy-header", "header name"}},
		{"https url", "", nil, []string{"--public-url", "https://a.example"}, []string{"--public-url", "wss://a.example"}},
		{"url with a query", "", nil, []string{"--public-url", "wss://a.example/?x=1"}, []string{"--public-url", "query"}},
		{"public listener", "", nil, []string{"--listen", "0.0.0.0:7447"}, []string{"public_url", "--public-url", "ENGRAMD_PUBLIC_URL"}},
		{"public listener, all", "", nil, []string{"--listen", ":7447"}, []string{"public_url"}},
		{"one port for both", "", nil, []string{"--listen", "127.0.0.1:7447", "--metrics-listen", "localhost:7447"}, []string{"metrics_listen", "a port of its own"}},
		{"one port, one of all", "public_url = ['wss://a.example']\n", nil, []string{"--listen", ":9447"}, []string{"metrics_listen", "listen :9447"}},
		{"message over the memory", "", nil, []string{"--limits-message-bytes", "32MiB"}, []string{"limits.message_bytes", "8388608", "limits.memory"}},
		{"pprof without a listener", "", nil, []string{"--metrics-pprof", "--metrics-listen", ""}, []string{"metrics_pprof", "metrics_listen"}},
		{"several at once", "nonsense = 1\n", []string{"ENGRAMD_DATA="}, []string{"--listen", "x"}, []string{"nonsense", "ENGRAMD_DATA", "--listen"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := load(t, c.file, c.env, c.args...)
			if err == nil {
				t.Fatalf("no error, got %+v", got)
			}
			for _, want := range c.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("error %q lacks %q", err, want)
				}
			}
		})
	}
}

func TestASecretKeyIsNotRepeated(t *testing.T) {
	const nsec = "nsec1vl029mgpspedva04g90vltkh6fvh240zqtv9k0t9af8935ke9laqsnlfe5"
	for _, s := range []string{nsec, strings.ToUpper(nsec), nsec[:40]} {
		_, err := load(t, "", nil, "--write-authors", s)
		if err == nil || strings.Contains(strings.ToLower(err.Error()), strings.ToLower(s)) {
			t.Errorf("error %v must be there and must not hold the key", err)
		}
	}
}

func TestLoopbackNeedsNoPublicURL(t *testing.T) {
	for _, listen := range []string{"127.0.0.1:0", "127.1.2.3:80", "[::1]:7447", "localhost:7447", "[::ffff:127.0.0.1]:1"} {
		if _, err := load(t, "", nil, "--listen", listen); err != nil {
			t.Errorf("%s: %v", listen, err)
		}
	}
}

// TestReadersNeedNoPorts: commands that only read the database accept a
// configuration without valid ports.
func TestReadersNeedNoPorts(t *testing.T) {
	c, err := Load(Sources{Env: []string{"ENGRAMD_LISTEN=0.0.0.0:7447", "ENGRAMD_METRICS_LISTEN=0.0.0.0:7447"}})
	if err != nil || c.Listen != "0.0.0.0:7447" {
		t.Errorf("%v", err)
	}
	for _, listen := range []string{"127.0.0.1:0", "127.0.0.2:9447", "127.0.0.1:9448"} {
		if _, err := load(t, "", nil, "--listen", listen, "--metrics-listen", strings.Replace(listen, "9448", "9447", 1)); (err != nil) != (listen == "127.0.0.2:9447") {
			t.Errorf("%s: %v", listen, err)
		}
	}
	if _, err := load(t, "", nil, "--listen", "127.0.0.2:9447", "--metrics-listen", "127.0.0.1:9447"); err != nil {
		t.Errorf("two addresses: %v", err)
	}
}

func TestForeignVariablesAreLeftAlone(t *testing.T) {
	env := []string{"PATH=/bin", "ENGRAMD_PORT=tcp://10.0.0.1:7447", "ENGRAMD_PORT_7447_TCP=x", "ENGRAMD_SERVICE_HOST=10.0.0.1"}
	if _, err := load(t, "", env); err != nil {
		t.Error(err)
	}
}

func TestConfigVariableNamesTheFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.toml")
	if err := os.WriteFile(path, []byte("data = '/from/file'"), 0o600); err != nil {
		t.Fatal(err)
	}
	got, err := Load(Sources{Env: []string{"ENGRAMD_CONFIG=" + path}})
	if err != nil || got.Data != "/from/file" {
		t.Errorf("%v, %v", got, err)
	}
	if _, err := Load(Sources{File: path + "x"}); err == nil || !strings.Contains(err.Error(), path+"x") {
		t.Errorf("missing file: %v", err)
	}
}
