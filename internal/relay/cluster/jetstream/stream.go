package jetstream

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/nats-io/nats.go/jetstream"
)

// subject is the log's.
func (c *setup) subject() string { return "engramd.log." + c.o.Stream }

// config is the stream as Create makes it; faults names what else one may be.
func (c *setup) config() jetstream.StreamConfig {
	config := jetstream.StreamConfig{
		Name: c.o.Stream, Description: "the log of an engramd cluster", Subjects: []string{c.subject()},
		Storage: jetstream.FileStorage, Replicas: c.o.Replicas,
		Retention: jetstream.LimitsPolicy, Discard: jetstream.DiscardNew,
		MaxMsgs: -1, MaxMsgsPerSubject: -1, MaxMsgSize: -1, MaxConsumers: -1, MaxBytes: -1,
		DenyDelete: true, PersistMode: jetstream.DefaultPersistMode,
	}
	if c.o.MaxBytes > 0 {
		config.MaxBytes = c.o.MaxBytes
	}
	return config
}

// Create makes the stream, after a look at the servers as Check has it. One that
// is there and has the same settings is no error: Bounds says whether it is
// empty.
func (c *Conn) Create(ctx context.Context) error {
	err := c.patiently(ctx, func(ctx context.Context) error {
		var v Survey
		if err := c.ask(ctx, &v, nil, nil); err != nil {
			return err
		}
		return cmp.Or(faulty(c, v.Servers), errors.Join(v.Silent...)) // any of them may be given the stream
	})
	if err != nil {
		return err
	}
	var stream jetstream.Stream
	err = c.patiently(ctx, func(ctx context.Context) error {
		ctx, cancel := context.WithTimeout(ctx, c.o.Patience/3)
		defer cancel()
		var failed error
		if stream, failed = c.js.CreateStream(ctx, c.config()); failed == nil || errors.Is(failed, context.DeadlineExceeded) {
			return failed // while the servers elect who decides, a request is lost
		}
		return fmt.Errorf("%w: %w", ErrRefused, failed)
	})
	if err != nil {
		return fmt.Errorf("create the stream %s: %w", c.o.Stream, err)
	}
	return c.same(stream.CachedInfo())
}

// info asks for the stream.
func (c *Conn) info(ctx context.Context) (jetstream.Stream, *jetstream.StreamInfo, error) {
	ctx, cancel := c.link.asking(ctx, askLimit)
	defer cancel()
	stream, err := c.js.Stream(ctx, c.o.Stream)
	if err != nil {
		return nil, nil, fmt.Errorf("ask for the stream %s: %w", c.o.Stream, err)
	}
	c.stream.Store(&stream)
	info := stream.CachedInfo()
	return stream, info, c.same(info)
}

// same returns ErrReplaced if the stream is not the one of before.
func (c *Conn) same(info *jetstream.StreamInfo) error {
	made := info.Created.UnixNano()
	if !c.created.CompareAndSwap(0, made) && c.created.Load() != made {
		return ErrReplaced
	}
	return nil
}

// Bounds asks the stream's leader; see cluster.Log.
func (c *Conn) Bounds(ctx context.Context) (first, last uint64, err error) {
	_, info, err := c.info(ctx)
	if err != nil {
		return 0, 0, err
	}
	first, last = info.State.FirstSeq, info.State.LastSeq
	if info.State.Msgs == 0 {
		first = last + 1
	}
	return first, last, nil
}

// Trim removes what is below a number; see cluster.Log. It fails for a number
// above the next one, which would make a gap.
func (c *Conn) Trim(ctx context.Context, below uint64) error {
	stream, info, err := c.info(ctx)
	if err != nil {
		return err
	}
	if below > info.State.LastSeq+1 {
		return fmt.Errorf("trim below %d: the log ends at %d", below, info.State.LastSeq)
	}
	if below <= info.State.FirstSeq {
		return nil
	}
	ctx, cancel := c.link.asking(ctx, askLimit)
	defer cancel()
	if err := stream.Purge(ctx, jetstream.WithPurgeSequence(below)); err != nil {
		return fmt.Errorf("trim: %w", err)
	}
	return nil
}

// missing reports whether there is no such stream.
func missing(err error) bool { return errors.Is(err, jetstream.ErrStreamNotFound) }
