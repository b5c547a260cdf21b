package cluster_test

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	nats "github.com/nats-io/nats.go/jetstream"

	"engramd/internal/e2e/cluster/rig"
	"engramd/internal/relay/cluster/jetstream"
)

// refused fails unless an error is a refusal that names the settings.
func refused(t *testing.T, err error, names ...string) {
	t.Helper()
	if !errors.Is(err, jetstream.ErrRefused) {
		t.Errorf("%v: not refused: %v", names, err)
		return
	}
	for _, name := range names {
		if !strings.Contains(err.Error(), name) {
			t.Errorf("%v does not name %s", err, name)
		}
	}
}

// Each wrong setting of a stream is refused by name.
func TestCheckRefusesStreams(t *testing.T) {
	t.Parallel()
	r := rig.Start(t, nil)
	js, err := nats.New(r.Connect(), nats.WithDefaultTimeout(wait))
	if err != nil {
		t.Fatal(err)
	}
	for name, change := range map[string]func(*nats.StreamConfig){
		"num_replicas":         func(s *nats.StreamConfig) { s.Replicas = 1 },
		"max_age":              func(s *nats.StreamConfig) { s.MaxAge = time.Hour },
		"storage":              func(s *nats.StreamConfig) { s.Storage = nats.MemoryStorage },
		"allow_rollup_hdrs":    func(s *nats.StreamConfig) { s.AllowRollup = true },
		"discard":              func(s *nats.StreamConfig) { s.Discard = nats.DiscardOld },
		"retention":            func(s *nats.StreamConfig) { s.Retention = nats.InterestPolicy },
		"max_msgs":             func(s *nats.StreamConfig) { s.MaxMsgs = 1000 },
		"max_msgs_per_subject": func(s *nats.StreamConfig) { s.MaxMsgsPerSubject = 1000 },
		"max_msg_size":         func(s *nats.StreamConfig) { s.MaxMsgSize = 1 << 20 },
		"deny_delete":          func(s *nats.StreamConfig) { s.DenyDelete = false },
		"deny_purge":           func(s *nats.StreamConfig) { s.DenyPurge = true },
		"allow_msg_ttl":        func(s *nats.StreamConfig) { s.AllowMsgTTL = true },
		"allow_atomic":         func(s *nats.StreamConfig) { s.AllowAtomicPublish = true },
		"subjects":             func(s *nats.StreamConfig) { s.Subjects = []string{"engramd.log.>"} },
		"republish":            func(s *nats.StreamConfig) { s.RePublish = &nats.RePublish{Source: ">", Destination: "copy.>"} },
		"persist_mode": func(s *nats.StreamConfig) {
			s.Replicas, s.PersistMode = 1, nats.AsyncPersistMode
		},
	} {
		o := r.Client().Options()
		o.Stream = "wrong_" + name
		c := nats.StreamConfig{Name: o.Stream, Subjects: []string{"engramd.log." + o.Stream}, Storage: nats.FileStorage,
			Replicas: 3, Discard: nats.DiscardNew, DenyDelete: true}
		change(&c)
		if _, err := js.CreateStream(t.Context(), c); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		conn := open(t, o)
		refused(t, conn.Check(t.Context()), name)
		conn.Close()
		if err := js.DeleteStream(t.Context(), o.Stream); err != nil {
			t.Fatal(err)
		}
	}
	o := r.Client().Options()
	refused(t, open(t, o).Check(t.Context()), "there is no stream ENGRAMD_LOG")
}

// Each wrong setting of a server is refused by its name and the server's; a
// server about which nobody can be asked is refused too.
func TestCheckRefusesServers(t *testing.T) {
	t.Parallel()
	r := rig.Start(t, nil)
	c := r.Client()
	create(t, c.Options())
	check := func(change func(*jetstream.Options)) error {
		o := c.Options()
		change(&o)
		return open(t, o).Check(t.Context())
	}
	system := func(o *jetstream.Options) { o.Monitor, o.SystemCredentials = nil, c.SystemCredentials() }
	if err := check(system); err != nil {
		t.Errorf("as a user of the system account: %v", err)
	}
	if err := check(func(o *jetstream.Options) { o.Monitor, o.TrustSync = nil, true }); err != nil {
		t.Errorf("on trust: %v", err)
	}
	refused(t, check(func(o *jetstream.Options) { o.Monitor = o.Monitor[:2] }), "cluster.monitor", r.Name(2))
	refused(t, check(func(o *jetstream.Options) { o.Monitor[1] = faked(t, r.Monitor(1), "version", "2.11.9") }), "2.11.9", r.Name(1))
	refused(t, check(func(o *jetstream.Options) { o.Monitor[0] = faked(t, r.Monitor(0), "max_payload", 1<<20) }), "max_payload", r.Name(0))
	if err := check(func(o *jetstream.Options) {
		o.Monitor, o.SystemCredentials, o.Patience = nil, c.Credentials(), time.Second
	}); !errors.Is(err, jetstream.ErrUnverified) {
		t.Errorf("as a user who is not of the system account: %v", err)
	}

	r.Kill(1)
	if err := check(func(*jetstream.Options) {}); err != nil {
		t.Errorf("one server is dead: %v", err)
	}
	r.Restart(1, func(s *rig.Settings) { s.Sync = "" })
	r.Settle()
	refused(t, check(func(*jetstream.Options) {}), "sync_interval", r.Name(1))
	r.Until("the stream's leader hears it", wait, func() error { // before, it is held for dead and not waited for
		err := check(system)
		if err == nil {
			return errors.New("not refused")
		}
		refused(t, err, "sync_interval", r.Name(1))
		return nil
	})
	r.Kill(1)
	r.Restart(1, func(s *rig.Settings) { s.Sync = "1s" })
	r.Settle()
	refused(t, check(func(*jetstream.Options) {}), "sync_interval", r.Name(1))
	if err := check(func(o *jetstream.Options) { o.Stream = "other" }); !errors.Is(err, jetstream.ErrRefused) {
		t.Errorf("no stream: %v", err)
	}
	o := c.Options()
	o.Stream = "other"
	refused(t, open(t, o).Create(t.Context()), "sync_interval", r.Name(1))
}

// Watch tells of a server whose settings have become wrong, of one that is silent, which
// is as it was known last, and when all is right again. None of it is an error.
func TestWatch(t *testing.T) {
	t.Parallel()
	r := rig.Start(t, nil)
	o := r.Client().Options()
	o.CheckEvery = 50 * time.Millisecond
	o.Patience = time.Second
	conn := create(t, o)
	type look struct {
		jetstream.Survey
		err error
	}
	told := make(chan look)
	go conn.Watch(t.Context(), func(v jetstream.Survey, err error) {
		select {
		case told <- look{v, err}:
		case <-t.Context().Done():
		}
	})
	until := func(what string, unknown int, unsynced ...string) {
		t.Helper()
		var last look
		for deadline := time.After(wait); ; {
			select {
			case last = <-told:
				if last.err != nil {
					t.Fatal(what, last.err)
				}
				if last.Unknown == unknown && slices.Equal(last.Unsynced, unsynced) {
					return
				}
			case <-deadline:
				t.Fatal("not told:", what, last)
			}
		}
	}
	name := r.Name(2)
	until("all is well", 0)
	r.Kill(2)
	until("it is dead", 1)
	r.Restart(2, func(s *rig.Settings) { s.Sync = "" })
	until("it does not sync", 0, name)
	r.Kill(2)
	until("it is dead, and did not sync", 1, name)
	r.Restart(2, func(s *rig.Settings) { s.Sync = "always" })
	until("it syncs again", 0)

	if err := conn.RemoveServer(t.Context(), name, false); !errors.Is(err, jetstream.ErrOptions) {
		t.Errorf("without a user who may: %v", err)
	}
	o.SystemCredentials, o.Patience = r.Client().SystemCredentials(), wait // they may have no leader yet
	removing := open(t, o)
	if err := removing.RemoveServer(t.Context(), "nobody", true); err == nil || !strings.Contains(err.Error(), "not removed") {
		t.Errorf("a server that is none: %v", err)
	}
	if err := removing.RemoveServer(t.Context(), name, false); !errors.Is(err, jetstream.ErrFew) {
		t.Errorf("nobody takes the copy: %v", err)
	}
	added := r.Add() // no URL leads to it
	if err := removing.RemoveServer(t.Context(), name, false); err != nil {
		t.Fatal(err)
	}
	until("another one has its copy", 1)
	for v := (<-told).Survey; ; v = (<-told).Survey {
		i := slices.IndexFunc(v.Servers, func(s jetstream.Server) bool { return s.Name == r.Name(added) })
		if i >= 0 && errors.Is(v.Servers[i].Fault, jetstream.ErrUnlisted) && v.Servers[i].Keeps {
			break
		}
	}
	refused(t, conn.Check(t.Context()), "cluster.monitor", r.Name(added))
}

// A dead server of which the leader has never heard since its start is removed by its name.
func TestRemovesUnheardOf(t *testing.T) {
	t.Parallel()
	r := rig.Start(t, nil)
	added := r.Add()
	for i := range r.Count() {
		r.Kill(i)
	}
	for _, i := range []int{0, 1, added} {
		r.Start(i)
	}
	o := r.Client().Options()
	o.SystemCredentials, o.Patience = r.Client().SystemCredentials(), wait
	conn := open(t, o)
	if err := conn.RemoveServer(t.Context(), r.Name(2), false); err != nil {
		t.Fatal(err)
	}
	if err := conn.RemoveServer(t.Context(), r.Name(2), false); err == nil || !strings.Contains(err.Error(), "not removed") {
		t.Errorf("once more: %v", err)
	}
}

// faked serves a copy of a monitoring URL with one value of /varz changed.
func faked(t *testing.T, base, name string, value any) string {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
		response, err := http.Get(base + request.URL.String())
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadGateway)
			return
		}
		defer response.Body.Close()
		if request.URL.Path != "/varz" {
			_, _ = io.Copy(w, response.Body)
			return
		}
		var all map[string]any
		if err := json.NewDecoder(response.Body).Decode(&all); err != nil {
			http.Error(w, err.Error(), http.StatusBadGateway)
			return
		}
		all[name] = value
		_ = json.NewEncoder(w).Encode(all)
	}))
	t.Cleanup(server.Close)
	return server.URL
}
