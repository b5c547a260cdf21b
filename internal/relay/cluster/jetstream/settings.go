package jetstream

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

const (
	oldest     = "2.12" // the first version of the server that will do
	minPayload = maxMessage
)

// faults names every setting of the stream with which an acknowledged message
// may be lost, changed, or read otherwise by another node.
func (c *setup) faults(is jetstream.StreamConfig) error {
	want := c.config()
	var faults []string
	fault := func(setting string, bad bool, is, want any) {
		if bad {
			faults = append(faults, fmt.Sprintf("%s is %v, not %v", setting, is, want))
		}
	}
	off := func(setting string, on bool) { fault(setting, on, true, false) }
	none := func(setting string, n int64) { fault(setting, n > 0, n, "unlimited") }

	fault("subjects", !slices.Equal(is.Subjects, want.Subjects), is.Subjects, want.Subjects)
	fault("storage", is.Storage != want.Storage, is.Storage, want.Storage)
	fault("num_replicas", is.Replicas != want.Replicas, is.Replicas, want.Replicas)
	fault("retention", is.Retention != want.Retention, is.Retention, want.Retention)
	fault("discard", is.Discard != want.Discard, is.Discard, want.Discard)
	fault("max_age", is.MaxAge != 0, is.MaxAge, "unlimited")
	fault("persist_mode", is.PersistMode != want.PersistMode, is.PersistMode, want.PersistMode)
	none("max_msgs", is.MaxMsgs)
	none("max_msgs_per_subject", is.MaxMsgsPerSubject)
	none("max_consumers", int64(is.MaxConsumers))
	fault("max_msg_size", is.MaxMsgSize > 0 && is.MaxMsgSize < maxMessage, is.MaxMsgSize, "unlimited")
	fault("subject_delete_marker_ttl", is.SubjectDeleteMarkerTTL != 0, is.SubjectDeleteMarkerTTL, 0)
	fault("deny_delete", !is.DenyDelete, false, true)
	off("deny_purge", is.DenyPurge) // trimming is a purge
	off("allow_rollup_hdrs", is.AllowRollup)
	off("allow_msg_ttl", is.AllowMsgTTL)
	off("allow_msg_counter", is.AllowMsgCounter)
	off("allow_msg_schedules", is.AllowMsgSchedules)
	off("allow_atomic", is.AllowAtomicPublish)
	off("allow_batched", is.AllowBatchPublish)
	off("discard_new_per_subject", is.DiscardNewPerSubject)
	off("no_ack", is.NoAck)
	off("sealed", is.Sealed)
	for _, one := range []struct {
		setting string
		set     bool
	}{
		{"mirror", is.Mirror != nil}, {"sources", len(is.Sources) > 0},
		{"subject_transform", is.SubjectTransform != nil}, {"republish", is.RePublish != nil},
	} {
		fault(one.setting, one.set, "set", "empty")
	}
	if len(faults) > 0 {
		return fmt.Errorf("%w: the stream %s: %s", ErrRefused, c.o.Stream, strings.Join(faults, "; "))
	}
	return nil
}

// server is what one server says of itself.
type server struct {
	Name       string
	Version    string
	MaxPayload int64
	JetStream  bool
	SyncAlways bool
	Group      []string // ids of the servers that keep streams, as it knows them

	Ahead        time.Duration // its clock, of this machine's
	Stored, Room int64
}

// loose reports whether it acknowledges what is not on its disk.
func (s *server) loose() bool {
	return !atLeast(s.Version, oldest) || s.JetStream && !s.SyncAlways
}

// fault names what is wrong with a server.
func (s *server) fault() error {
	switch {
	case !atLeast(s.Version, oldest):
		return fmt.Errorf("%w: server %s has version %s, older than %s: it cannot sync what it acknowledges", ErrRefused, s.Name, s.Version, oldest)
	case s.MaxPayload < minPayload:
		return fmt.Errorf("%w: max_payload of server %s is %d, less than %d (4 MiB)", ErrRefused, s.Name, s.MaxPayload, minPayload)
	case s.JetStream && !s.SyncAlways:
		return fmt.Errorf("%w: sync_interval of server %s is not \"always\": it acknowledges what is not on its disk yet; set it in the server's jetstream block", ErrRefused, s.Name)
	}
	return nil
}

// atLeast compares versions by their first two numbers: a preview of 2.12 counts
// as 2.12.
func atLeast(version, least string) bool {
	is, ok := numbers(version)
	want, _ := numbers(least)
	return ok && slices.Compare(is, want) >= 0
}

func numbers(version string) ([]int, bool) {
	parts := strings.SplitN(strings.TrimPrefix(version, "v"), ".", 3)
	if len(parts) < 2 {
		return nil, false
	}
	major, err := strconv.Atoi(parts[0])
	if err != nil {
		return nil, false
	}
	minor, err := strconv.Atoi(parts[1])
	return []int{major, minor}, err == nil
}
