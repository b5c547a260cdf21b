package jetstream

import (
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"engramd/internal/relay/cluster"
)

func unconnected() *Conn {
	return &Conn{setup: setup{o: Options{Replicas: 3, Stream: "LOG", Log: slog.New(slog.DiscardHandler)}}}
}

// The stream as it is created passes; any other value of a setting that matters
// is refused by name.
func TestFaults(t *testing.T) {
	c := unconnected()
	if err := c.faults(c.config()); err != nil {
		t.Error(err)
	}
	for name, change := range map[string]func(*jetstream.StreamConfig){
		"sealed":                  func(s *jetstream.StreamConfig) { s.Sealed = true },
		"no_ack":                  func(s *jetstream.StreamConfig) { s.NoAck = true },
		"mirror":                  func(s *jetstream.StreamConfig) { s.Mirror = &jetstream.StreamSource{} },
		"sources":                 func(s *jetstream.StreamConfig) { s.Sources = []*jetstream.StreamSource{{}} },
		"subject_transform":       func(s *jetstream.StreamConfig) { s.SubjectTransform = &jetstream.SubjectTransformConfig{} },
		"allow_msg_counter":       func(s *jetstream.StreamConfig) { s.AllowMsgCounter = true },
		"allow_msg_schedules":     func(s *jetstream.StreamConfig) { s.AllowMsgSchedules = true },
		"allow_batched":           func(s *jetstream.StreamConfig) { s.AllowBatchPublish = true },
		"discard_new_per_subject": func(s *jetstream.StreamConfig) { s.DiscardNewPerSubject = true },
		"max_consumers":           func(s *jetstream.StreamConfig) { s.MaxConsumers = 2 },
		"persist_mode":            func(s *jetstream.StreamConfig) { s.PersistMode = jetstream.AsyncPersistMode },
	} {
		s := c.config()
		change(&s)
		if err := c.faults(s); !errors.Is(err, ErrRefused) || !strings.Contains(err.Error(), name+" is") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A server that keeps the log must be asked; one that does not answer must be
// known to be gone.
func TestKeepers(t *testing.T) {
	c := unconnected()
	info := func(offline bool) *jetstream.ClusterInfo {
		return &jetstream.ClusterInfo{Leader: "a", Replicas: []*jetstream.PeerInfo{
			{Name: "b", Current: true, Active: time.Second}, {Name: "c", Current: true, Active: time.Second, Offline: offline}}}
	}
	silent := []error{errors.New("no answer")}
	names, dead, err := c.keepers(info(false))
	if err != nil || len(names) != 3 || len(dead) != 0 {
		t.Fatalf("%v %v %v", names, dead, err)
	}
	if err := c.missed(nil, dead, nil); err != nil {
		t.Errorf("all were asked: %v", err)
	}
	if err := c.missed([]string{"c"}, dead, nil); !errors.Is(err, ErrRefused) || !strings.Contains(err.Error(), "server c") {
		t.Errorf("no URL of c: %v", err)
	}
	if err := c.missed([]string{"c"}, dead, silent); err == nil || errors.Is(err, ErrRefused) {
		t.Errorf("c lives and does not answer: %v", err)
	}
	if _, dead, _ = c.keepers(info(true)); c.missed([]string{"c"}, dead, silent) != nil {
		t.Error("c is dead, and its silence counts")
	}
	for active, is := range map[time.Duration]bool{0: true, time.Second: false, time.Minute: true} {
		if gone(&jetstream.PeerInfo{Active: active}) != is {
			t.Errorf("heard of %v ago: gone is %v", active, !is)
		}
	}
	if _, _, err := c.keepers(&jetstream.ClusterInfo{Replicas: info(false).Replicas}); err == nil {
		t.Error("no leader, and it is verified")
	}
	if _, _, err := c.keepers(&jetstream.ClusterInfo{Leader: "a"}); err == nil {
		t.Error("one server of three keeps the log")
	}
}

// An answer of the log is a number, a refusal, or unknown.
func TestAnswers(t *testing.T) {
	for _, tt := range []struct {
		text    string
		header  nats.Header
		number  uint64
		unknown bool
		err     error
	}{
		{text: `{"stream":"LOG","seq":7}`, number: 7},
		{text: `{"stream":"OTHER","seq":7}`, unknown: true},
		{text: `{"stream":"LOG"}`, unknown: true},
		{text: `nonsense`, unknown: true},
		{text: ``, unknown: true},
		{text: `{"error":{"code":400,"err_code":10077,"description":"maximum bytes exceeded"}}`, err: &jetstream.APIError{ErrorCode: 10077}},
		{header: nats.Header{"Status": {"503"}}, err: ErrNoLeader},
	} {
		number, err := readAnswer(&nats.Msg{Data: []byte(tt.text), Header: tt.header}, "LOG")
		wrong := number != tt.number || errors.Is(err, cluster.ErrUnknown) != tt.unknown || tt.err != nil && !errors.Is(err, tt.err) ||
			(err == nil) != (tt.number > 0)
		if wrong {
			t.Errorf("%q %v: %d %v", tt.text, tt.header, number, err)
		}
	}
}
