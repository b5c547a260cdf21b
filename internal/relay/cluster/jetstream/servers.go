package jetstream

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
)

const (
	monitorLimit = 3 * time.Second // for one server's answer
	answerLimit  = 4 << 20         // bytes of it
	systemLimit  = 2 * time.Second // until all servers have answered a user of the system account
)

// varz and jsz are what is read of a server's answers at the paths and subjects
// of these names.
type varz struct {
	Name       string `json:"server_name"`
	Version    string `json:"version"`
	MaxPayload int64  `json:"max_payload"`
	Ahead      ahead  `json:"now"`
}

type jsz struct {
	Disabled bool  `json:"disabled"`
	Stored   int64 `json:"storage"`
	Config   struct {
		SyncAlways bool  `json:"sync_always"`
		Room       int64 `json:"max_storage"`
	} `json:"config"`
	Group struct { // of the servers that keep streams
		Leader string `json:"peer"`
		Others []struct {
			ID string `json:"peer"`
		} `json:"replicas"`
	} `json:"meta_cluster"`
}

func (v varz) with(j jsz) server {
	group := []string{j.Group.Leader}
	for _, one := range j.Group.Others {
		group = append(group, one.ID)
	}
	return server{Group: group, Name: v.Name, Version: v.Version, MaxPayload: v.MaxPayload, JetStream: !j.Disabled, SyncAlways: j.Config.SyncAlways, Ahead: time.Duration(v.Ahead), Stored: j.Stored, Room: j.Config.Room}
}

// monitored asks every monitoring URL. Those that do not answer are in silent,
// with the reason.
func (c *setup) monitored(ctx context.Context) (all []server, silent []error) {
	client := &http.Client{
		Timeout:       monitorLimit,
		Transport:     &http.Transport{TLSClientConfig: c.tls.Clone(), DisableKeepAlives: true},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	servers, errs := make([]server, len(c.o.Monitor)), make([]error, len(c.o.Monitor))
	var group sync.WaitGroup
	for i, base := range c.o.Monitor {
		group.Go(func() { servers[i], errs[i] = monitor(ctx, client, strings.TrimSuffix(base, "/")) })
	}
	group.Wait()
	for i, err := range errs {
		if err != nil {
			silent = append(silent, err)
		} else {
			all = append(all, servers[i])
		}
	}
	return all, silent
}

// monitor asks one server.
func monitor(ctx context.Context, client *http.Client, base string) (server, error) {
	var v varz
	if err := get(ctx, client, base+"/varz", &v); err != nil {
		return server{}, err
	}
	var j jsz
	if err := get(ctx, client, base+"/jsz?config=1", &j); err != nil {
		return server{}, err
	}
	if v.Name == "" || v.Version == "" {
		return server{}, fmt.Errorf("%s is not the monitoring URL of a NATS server", base)
	}
	return v.with(j), nil
}

func get(ctx context.Context, client *http.Client, url string, into any) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return fmt.Errorf("monitoring URL: %w", err)
	}
	response, err := client.Do(request)
	if err != nil {
		return fmt.Errorf("monitoring URL: %w", err)
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("%s: %s", url, response.Status)
	}
	if err := json.NewDecoder(io.LimitReader(response.Body, answerLimit)).Decode(into); err != nil {
		return fmt.Errorf("%s: %w", url, err)
	}
	return nil
}

// system asks all servers as a user of the system account, and returns those that
// answered, as soon as all of names did.
func (c *setup) system(ctx context.Context, names []string) ([]server, error) {
	nc, err := c.asSystem(ctx)
	if err != nil {
		return nil, err
	}
	defer nc.Close()
	found, configs := map[string]varz{}, map[string]jsz{}
	if err := ping(ctx, nc, "VARZ", names, found); err != nil {
		return nil, err
	}
	if err := ping(ctx, nc, "JSZ", names, configs); err != nil {
		return nil, err
	}
	var all []server
	for name, v := range found {
		if j, ok := configs[name]; ok {
			all = append(all, v.with(j))
		}
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("no server answers: is this a user of the system account?")
	}
	return all, nil
}

func (c *setup) asSystem(ctx context.Context) (*nats.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, dialLimit)
	defer cancel()
	nc, err := c.connect(ctx, "engramd check", c.o.SystemCredentials)
	if err != nil {
		return nil, fmt.Errorf("as a user of the system account: %w", err)
	}
	return nc, nil
}

// ping collects the answers of all servers by name. Without names it waits for
// as long as it may.
func ping[T any](ctx context.Context, nc *nats.Conn, what string, names []string, into map[string]T) error {
	inbox := nats.NewInbox()
	sub, err := nc.SubscribeSync(inbox)
	if err != nil {
		return fmt.Errorf("subscribe: %w", err)
	}
	defer sub.Unsubscribe() //nolint:errcheck // the connection ends with it
	if err := nc.PublishRequest("$SYS.REQ.SERVER.PING."+what, inbox, []byte("{}")); err != nil {
		return fmt.Errorf("ask the servers: %w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, systemLimit)
	defer cancel()
	for !covers(into, names) {
		m, err := sub.NextMsgWithContext(ctx)
		if err != nil {
			return nil // those that have not answered are missed by the caller
		}
		var answer struct {
			Server struct {
				Name string `json:"name"`
			} `json:"server"`
			Data T `json:"data"`
		}
		if err := json.Unmarshal(m.Data, &answer); err != nil || answer.Server.Name == "" {
			continue
		}
		into[answer.Server.Name] = answer.Data
	}
	return nil
}

func covers[T any](found map[string]T, names []string) bool {
	for _, name := range names {
		if _, ok := found[name]; !ok {
			return false
		}
	}
	return len(names) > 0
}
