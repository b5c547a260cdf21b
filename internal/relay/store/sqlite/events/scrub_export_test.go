package events

import (
	"context"

	"engramd/internal/relay/store/sqlite/engine"
)

// Scrub does steps of the scrub until every row was looked at once.
func Scrub(ctx context.Context, o opened) error {
	s := o.inside()
	b := scrubber{s: s}
	for more := true; more; {
		var err error
		if more, err = b.step(ctx); err != nil {
			return err
		}
	}
	for last := int64(-1); b.at != 0 || last < 0; last = b.at {
		if _, err := b.step(ctx); err != nil || b.at == last {
			return err
		}
	}
	return nil
}

// Engine is the database below a store.
func Engine(o opened) *engine.DB { return o.inside().db }
