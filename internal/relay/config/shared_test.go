package config

import (
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestWhatNodesShare(t *testing.T) {
	want := []string{
		"public_url", "gate.wildcard", "gate.ids", "gate.contracts", "gate.rules", "gate.replicas",
		"write.authors", "write.owners", "write.kinds", "write.ban_authors", "write.ban_kinds",
		"limits.author_bytes", "limits.author_events", "limits.future",
		"history.versions", "history.days", "history.contract_days", "retention.rules", "contracts.publish_to", "contracts.any_id",
	}
	var got []string
	for _, o := range Options() {
		if o.Cluster() {
			got = append(got, o.Key)
		}
	}
	if !slices.Equal(got, want) {
		t.Errorf("shared are\n%v, want\n%v", got, want)
	}
}

// TestSharedText: applying a node's shared text gives another node the same
// shared options, and changes no others.
func TestSharedText(t *testing.T) {
	one, err := load(t, "", nil, "--gate-rules", `30078 author; 4550 author,p ids`, "--write-authors", key1, "--write-kinds", "1,30174",
		"--limits-future", "90s", "--limits-author-events", "7", "--history-days", "3", "--contracts-any-id", "--public-url", "wss://a.example",
		"--log-format", "json", "--write-program", "/bin/true")
	if err != nil {
		t.Fatal(err)
	}
	two, err := load(t, "", nil, "--limits-subscriptions", "5", "--history-versions", "4", "--limits-author-bytes", "1073741824")
	if err != nil {
		t.Fatal(err)
	}
	text := SharedText(one)
	if SharedText(one) != text || strings.Contains(text, "write.program") || strings.Contains(text, "store.") || !strings.Contains(text, "limits.author_events = 7\n") {
		t.Errorf("the text is\n%s", text)
	}
	want := []string{"public_url", "gate.rules", "write.authors", "write.kinds", "limits.author_bytes", "limits.author_events", "limits.future", "history.versions", "history.days", "contracts.any_id"}
	if got := SharedDiff(two, text); !slices.Equal(got, want) {
		t.Errorf("differ %v, want %v", got, want)
	}
	both, err := WithShared(two, text)
	if err != nil {
		t.Fatal(err)
	}
	if got := SharedText(both); got != text || len(SharedDiff(both, text)) > 0 {
		t.Errorf("afterwards it is\n%s, want\n%s\ndiffers: %v", got, text, SharedDiff(both, text))
	}
	if both.Limits.Subscriptions != 5 || both.Limits.Future != 90*time.Second || !reflect.DeepEqual(both.Gate.Rules, one.Gate.Rules) || len(both.Write.Program) > 0 {
		t.Errorf("%+v", both)
	}
	if both.Said("limits.author_bytes") || !both.Said("limits.author_events") || both.Origin("write.kinds") != "cluster" || both.Origin("limits.subscriptions") != "flag --limits-subscriptions" {
		t.Error("who said what is lost")
	}
	if two.History.Versions != 4 || two.Limits.Future != Default().Limits.Future {
		t.Error("the configuration itself changed")
	}
}

// TestQuotaByWord: a quota's default and the same number set explicitly bind
// different authors, so that nodes must agree on which.
func TestQuotaByWord(t *testing.T) {
	set, err := load(t, "", nil, "--limits-author-events", "100000")
	if err != nil {
		t.Fatal(err)
	}
	if got := SharedDiff(set, SharedText(Default())); !slices.Equal(got, []string{"limits.author_events"}) {
		t.Errorf("differ %v", got)
	}
	if got := SharedDiff(Default(), SharedText(set)); !slices.Equal(got, []string{"limits.author_events"}) {
		t.Errorf("differ %v", got)
	}
	if got := SharedDiff(Default(), SharedText(Default())); len(got) > 0 {
		t.Errorf("differ %v", got)
	}
}

func TestSharedTextThatIsNone(t *testing.T) {
	for text, want := range map[string]string{
		"listen = \"127.0.0.1:1\"\n": "listen is not an option that nodes share",
		"gate.wildcard = \"open\"\n": `"open" is not one of`,
		"gate.":                      "line 1",
		"gate.later = 3\n":           "gate.later",
	} {
		if _, err := WithShared(Default(), text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
		if len(SharedDiff(Default(), text)) == 0 {
			t.Errorf("%q: does not differ", text)
		}
	}
	// An option of a later version is reported as the one that differs.
	if got := SharedDiff(Default(), SharedText(Default())+"gate.later = 3\n"); !slices.Equal(got, []string{"gate.later"}) {
		t.Errorf("differ %v", got)
	}
	// An option that an earlier version did not write has its default.
	earlier := strings.Replace(SharedText(Default()), "history.days = 365\n", "", 1)
	if got := SharedDiff(Default(), earlier); len(got) > 0 {
		t.Errorf("differ %v", got)
	}
}

func TestClusterOptions(t *testing.T) {
	on := []string{"--cluster", "--cluster-urls"}
	for name, c := range map[string]struct {
		args []string
		want string // "" is good
	}{
		"on this machine":       {append(on, "nats://127.0.0.1:4222,nats://[::1]:4223"), ""},
		"off":                   {[]string{"--cluster-urls", "nats://log.example:4222", "--store-max-bytes", "1GiB"}, ""},
		"elsewhere":             {append(on, "tls://log.example:4222", "--cluster-credentials", "/etc/engramd/log.creds"), ""},
		"with a certificate":    {append(on, "tls://log.example:4222", "--cluster-credentials", "x", "--cluster-tls-cert", "a.pem", "--cluster-tls-key", "b.pem"), ""},
		"four replicas":         {append(on, "nats://127.0.0.1:1", "--cluster-replicas", "4"), "not 1, 3 or 5"},
		"no servers":            {[]string{"--cluster"}, "cluster.urls, which is empty"},
		"a bound of the file":   {append(on, "nats://127.0.0.1:1", "--store-max-bytes", "1GiB"), "store.max_bytes must be auto or 0 in a cluster"},
		"not encrypted":         {append(on, "nats://log.example:4222", "--cluster-credentials", "x"), "must be tls://"},
		"anybody":               {append(on, "tls://log.example:4222"), "needs cluster.credentials"},
		"half a certificate":    {append(on, "nats://127.0.0.1:1", "--cluster-tls-cert", "a.pem"), "go together"},
		"a password":            {append(on, "nats://me:secret@127.0.0.1:1"), "a URL has a user in it"},
		"no port":               {append(on, "nats://127.0.0.1"), "has no port"},
		"another scheme":        {append(on, "http://127.0.0.1:1"), "is not a URL such as nats://"},
		"a stream with dots":    {append(on, "nats://127.0.0.1:1", "--cluster-stream", "a.b"), "--cluster-stream"},
		"reads from the leader": {append(on, "nats://127.0.0.1:1", "--cluster-reads", "leader"), "latest, local, session"},
		"even more replicas":    {append(on, "nats://127.0.0.1:1", "--cluster-replicas", "6"), "at most 5"},
		"monitor over nats":     {append(on, "nats://127.0.0.1:1", "--cluster-monitor", "nats://127.0.0.1:2"), "--cluster-monitor"},
	} {
		_, err := load(t, "", nil, c.args...)
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
		if err != nil && strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: the error has a password in it", name)
		}
	}
	c, err := load(t, "", nil, append(on, "nats://127.0.0.1:4222", "--cluster-name", "north")...)
	if err != nil || !c.Cluster.Enabled || c.Cluster.Replicas != 3 || c.Cluster.Reads != "latest" || c.Cluster.Stream != "engramd" || c.Cluster.TrustSync || c.Cluster.Name != "north" {
		t.Errorf("%+v, %v", c, err)
	}
}

// A file of what is a node's own and what all share says the same as what it was made
// of, but for where the node is.
func TestOwnAndSharedTextAreAFile(t *testing.T) {
	one, err := load(t, "", []string{"ENGRAMD_LOG_FORMAT=json"}, "--data", "elsewhere", "--cluster-name", "a", "--write-authors", key1, "--public-url", "wss://a.example",
		"--limits-author-events", "7", "--replica", "url=wss://b.example", "--limits-memory", "536870912")
	if err != nil {
		t.Fatal(err)
	}
	text := OwnText(one) + SharedText(one)
	two, err := loadText(t, text)
	if err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	var differ []string
	for _, change := range Diff(one, two) {
		differ = append(differ, change.Key)
	}
	if !slices.Equal(differ, []string{"data", "cluster.name"}) {
		t.Errorf("%v: %s", differ, text)
	}
}
