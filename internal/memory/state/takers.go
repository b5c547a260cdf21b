package state

import (
	"context"
	"maps"
	"slices"

	"engramd/internal/memory/state/sealedfile"
	"engramd/internal/protocol/writerlog"
)

// Took notes that events are stored, by their ids, and which relays said that they
// took each of them, or showed it, by their URLs. Of relays beyond MaxTakers it is
// not kept. Ids that are not of a log are left.
func (s Links) Took(ctx context.Context, took map[string][]string) error {
	if len(took) == 0 {
		return nil
	}
	for _, relays := range took {
		if err := fits(relays...); err != nil {
			return err
		}
	}
	return s.write(ctx, func(tx *sealedfile.Tx) error {
		for _, id := range slices.Sorted(maps.Keys(took)) {
			raw, ok := writerlog.ParseID(id)
			if !ok {
				continue
			}
			var bits int64
			for _, relay := range took[id] {
				bit, err := takerBit(tx, relay)
				if err != nil {
					return err
				}
				bits |= bit
			}
			if err := tx.Exec("UPDATE links SET fate = 1, event = NULL, took = took | ? WHERE id = ?", bits, raw[:]); err != nil {
				return err
			}
		}
		return nil
	})
}

// takerBit returns the bit of a relay, 0 if there is none left for it.
func takerBit(tx *sealedfile.Tx, relay string) (int64, error) {
	var next, at int64
	if _, err := tx.One("SELECT count(*), coalesce(max(CASE relay WHEN ? THEN bit END), -1) FROM takers", func(r sealedfile.Row) error {
		next, at = r.Int(0), r.Int(1)
		return nil
	}, relay); err != nil {
		return 0, err
	}
	switch {
	case at >= 0:
		return 1 << at, nil
	case next >= MaxTakers:
		return 0, nil
	}
	return 1 << next, tx.Exec("INSERT INTO takers VALUES (?, ?)", next, relay)
}

// takersOf returns a function that says which relays a set of bits is of. Equal
// sets are one slice.
func takersOf(tx *sealedfile.Tx) (func(took int64) []string, error) {
	var relays []string
	err := tx.Each("SELECT relay FROM takers ORDER BY bit", func(r sealedfile.Row) error {
		relays = append(relays, r.Text(0))
		return nil
	})
	sets := map[int64][]string{}
	return func(took int64) []string {
		if set, known := sets[took]; known || took == 0 {
			return set
		}
		var set []string
		for bit, relay := range relays {
			if took&(1<<bit) != 0 {
				set = append(set, relay)
			}
		}
		sets[took] = set
		return set
	}, err
}
