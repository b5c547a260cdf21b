package load

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"

	"engramd/internal/protocol/wire"
)

// fillWorkload publishes the corpus, for relays that cannot import a file.
func fillWorkload() Workload {
	return Workload{
		Name: "fill", Unit: "OK/s", Needs: NeedsEmpty, run: runFill,
		Help:     "publish the whole corpus of --size, to ask for it afterwards; encoding is measured with it",
		Defaults: Options{Connections: 8, Pipeline: 128, Warmup: -1, Timeout: MaxTimeout},
	}
}

// fillChunk is how many events are encoded at once, which bounds memory.
const fillChunk = 50_000

func runFill(ctx context.Context, t Target, o Options) (Result, error) {
	c, err := PrepareCorpus(ctx, o.Cache, o.Size, o.Seed)
	if err != nil {
		return Result{}, err
	}
	reader, err := c.Reader(0)
	if err != nil {
		return Result{}, err
	}
	f, err := os.Open(c.Path)
	if err != nil {
		return Result{}, fmt.Errorf("cache: %w", err)
	}
	defer f.Close()
	conns, closeAll, err := OpenAll(ctx, t, o, o.Connections, func(int) *Key { return &reader })
	defer closeAll()
	if err != nil {
		return Result{}, err
	}
	lines := bufio.NewScanner(f)
	lines.Buffer(make([]byte, 64<<10), 64<<10)
	return Measure(ctx, t, func(ctx context.Context) (stored int, err error) {
		for stored < c.Size {
			lanes := make([]*lane, len(conns))
			for i := range lanes {
				lanes[i] = new(lane)
			}
			n := 0
			for ; n < fillChunk && lines.Scan(); n++ {
				if len(lines.Bytes()) < wire.PubKeyEnd {
					return stored, fmt.Errorf("%s: line %d is no event", c.Path, stored+n+1)
				}
				if err := lanes[n%len(lanes)].add(o, lines.Bytes()); err != nil {
					return stored, err
				}
			}
			if n == 0 {
				return stored, errors.Join(fmt.Errorf("%s: it ends after %d events", c.Path, stored), lines.Err())
			}
			err := Parallel(ctx, len(conns), func(ctx context.Context, i int) error {
				defer conns[i].endWith(ctx)()
				_, err := lanes[i].publish(conns[i], 0, lanes[i].len(), o.Pipeline)
				return err
			})
			if err != nil {
				return stored, err
			}
			stored += n
		}
		return stored, nil
	})
}
