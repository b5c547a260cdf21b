package operator

import (
	"context"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"testing"
	"time"

	"github.com/gorilla/websocket"

	"engramd/internal/e2e/relaytest"
	"engramd/internal/e2e/rig"
)

// statusOf runs `engramd status` as an operator's script does.
type statusOf struct {
	Ready   bool
	Clients struct {
		Connections, Subscriptions int
		Addresses                  []struct {
			Address     string
			Connections int
			Who         []string
		}
		Busiest []statusConn
	}
	Slow struct {
		Commits struct {
			Count int
			P50   float64 `json:"p50_seconds"`
			P99   float64 `json:"p99_seconds"`
		}
		Queues map[string]int64
	}
	Full    map[string]int64
	Refused []struct {
		What, Reason string
		Count        int64
	}
}

type statusConn struct {
	Conn          int
	Address, Who  string
	Subscriptions int
	BytesIn       int64 `json:"bytes_in"`
	BytesOut      int64 `json:"bytes_out"`
	FramesIn      int64 `json:"frames_in"`
	WaitingBytes  int64 `json:"waiting_bytes"`
}

func askStatus(t *testing.T, relay *relaytest.Child, args ...string) (s statusOf, text string) {
	t.Helper()
	r := relay.Run(nil, append([]string{"status", "--json", "--data", relay.Data}, args...)...)
	if r.Code != 0 {
		t.Fatalf("status: %d %s", r.Code, r.Stderr)
	}
	if err := json.Unmarshal(r.Stdout, &s); err != nil {
		t.Fatalf("%v: %s", err, r.Stdout)
	}
	return s, string(r.Stdout)
}

// TestStatus: connections are shown by address and tag, with what waits and
// what was refused, and without any key, id, filter or content; the log has the
// same tags and numbers.
func TestStatus(t *testing.T) {
	relay := rig.Start(t, "ENGRAMD_LOG_LEVEL=debug")
	agent, owner := relaytest.Agent(), relaytest.Owner()
	p, nobody := rig.Dial(t, relay, agent, owner), rig.Dial(t, relay)
	for range 3 {
		rig.Dial(t, relay)
	}
	engram := relaytest.Memory(agent, owner.Pub, "mem/"+logSecret, logSecret, rig.Now())
	p.Store(engram, relaytest.Note(agent, rig.Now(), logSecret))
	p.MustSubscribe(relaytest.Filter{"kinds": []int{1}, "authors": []string{agent.Pub}})
	p.MustSubscribe(relaytest.Filter{"kinds": []int{1}, "#t": []string{logSecret}})
	for range 7 {
		nobody.Closed("auth-required: ", relaytest.Filter{"kinds": []int{4}})
	}
	nobody.Refused(relaytest.Note(agent, rig.Now()+10_000, "too early"), "invalid: ")

	s, text := askStatus(t, relay)
	for try := 0; try < 10 && !s.Ready; try++ { // the disk may take longer than a probe waits
		s, text = askStatus(t, relay)
	}
	wantDiscreet(t, text)
	wantDiscreet(t, string(relay.Run(nil, "status", "--data", relay.Data).Stdout))
	if !s.Ready || s.Clients.Connections != 5 || s.Clients.Subscriptions != 2 || len(s.Clients.Addresses) != 1 || s.Clients.Addresses[0].Connections != 5 || s.Clients.Addresses[0].Address != "127.0.0.1" {
		t.Errorf("clients %s", text)
	}
	rig.AwaitLog(t, relay, "msg=AUTH")
	key := regexp.MustCompile(`msg=AUTH conn=(\d+) addr=127\.0\.0\.1 key=([0-9a-f]{8})`).FindStringSubmatch(relay.Log.Text())
	if key == nil {
		t.Fatalf("no AUTH in the log:\n%s", relay.Log.Text())
	}
	at := slices.IndexFunc(s.Clients.Busiest, func(c statusConn) bool { return fmt.Sprint(c.Conn) == key[1] })
	if at < 0 {
		t.Fatalf("connection %s is not there: %s", key[1], text)
	}
	if c := s.Clients.Busiest[at]; !regexp.MustCompile(`^[0-9a-f]{8},[0-9a-f]{8}$`).MatchString(c.Who) || !regexp.MustCompile(key[2]).MatchString(c.Who) ||
		c.Subscriptions != 2 || c.FramesIn != 6 || c.BytesIn < 1000 || c.BytesOut < 500 {
		t.Errorf("the connection with two keys is %+v", c)
	}
	if s.Slow.Commits.Count < 2 || s.Slow.Commits.P50 <= 0 || s.Slow.Commits.P99 < s.Slow.Commits.P50 || s.Full["database_bytes"] <= 0 || s.Full["memory_bytes"] <= 0 {
		t.Errorf("%s", text)
	}
	refused := map[string]int64{}
	for _, n := range s.Refused {
		refused[n.What] += n.Count
	}
	if refused["gate"] != 7 || refused["event"] != 1 {
		t.Errorf("refused %v, want 7 by the gate and an event", refused)
	}
	if few, _ := askStatus(t, relay, "--top", "2"); len(few.Clients.Busiest) != 2 || few.Clients.Connections != 5 {
		t.Errorf("--top 2 gives %d connections", len(few.Clients.Busiest))
	}
}

// TestStatus_SlowReader: a client that hardly reads its answers is listed
// first, with what waits for it.
func TestStatus_SlowReader(t *testing.T) {
	relay := rig.Start(t)
	agent, owner := relaytest.Agent(), relaytest.Owner()
	p := rig.Dial(t, relay)
	for i := range 300 {
		p.Store(relaytest.SizedEngram(agent, owner.Pub, fmt.Sprintf("%064x", i), 60_000, rig.Now()-1000+int64(i)))
	}
	slow, resp, err := websocket.DefaultDialer.Dial(relay.URL, nil)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	t.Cleanup(func() { slow.Close() })
	_, greeting, err := slow.ReadMessage()
	if err != nil {
		t.Fatal(err)
	}
	var challenge []string
	if err := json.Unmarshal(greeting, &challenge); err != nil || len(challenge) != 2 {
		t.Fatalf("%s, %v", greeting, err)
	}
	for _, message := range []any{
		[]any{"AUTH", relaytest.AuthEvent(owner, relay.URL, challenge[1], rig.Now())},
		[]any{"REQ", "all", relaytest.Filter{"kinds": []int{30174}, "#p": []string{owner.Pub}}},
	} {
		if err := slow.WriteJSON(message); err != nil {
			t.Fatal(err)
		}
	}
	go func() { // a message a second, so that it is not cut off while a busy machine asks for the status
		for {
			if _, _, err := slow.ReadMessage(); err != nil {
				return
			}
			time.Sleep(time.Second)
		}
	}()
	ctx, cancel := context.WithTimeout(t.Context(), 3*relaytest.Patience)
	defer cancel()
	for ctx.Err() == nil {
		s, _ := askStatus(t, relay)
		if first := s.Clients.Busiest[0]; first.WaitingBytes > 100_000 && first.Who != "nobody" && first.Conn == 2 {
			return
		}
	}
	s, text := askStatus(t, relay)
	t.Errorf("nothing waits for who does not read: %+v\n%s", s.Clients, text)
}
