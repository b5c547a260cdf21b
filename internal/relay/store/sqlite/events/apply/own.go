package apply

import (
	"bytes"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/relay/store/sqlite/column"
	"engramd/internal/relay/store/sqlite/engine"
	"engramd/internal/relay/store/sqlite/events/record"
)

// Of a rotten row one of the two may be wrong. What others wrapped for the key has
// its text as well.
const sqlOwnEvent = `SELECT seq, kind, class, CASE WHEN pubkey = ?2 OR author = ?3 THEN NULL ELSE json END FROM events
	WHERE id = ?1 AND (pubkey = ?2 OR author = ?3 OR kind = 1059 AND readers = ?3)`

// own returns seq, kind and class of an event that r's author may delete, nil if it is
// not here: one of his, or a gift wrap for him.
func (rm *remover) own(r *record.Record, id []byte) (engine.Row, error) {
	var number engine.Value // NULL for none: of a rotten row the author may be 0
	if n, err := rm.Keys.Number(record.Pubkey(r.Pubkey)); err != nil {
		return nil, err
	} else if n != 0 {
		number = n
	}
	row, err := rm.Conn().One(sqlOwnEvent, id, r.Pubkey, number)
	if err != nil || row == nil || row[3] == nil {
		return row, err
	}
	if wrap, err := column.Event(row.Blob(3)); err != nil || !bytes.Equal(recipient(wrap), r.Pubkey) {
		return nil, nil // it is for others, too; or it is rotten, and may be
	}
	return row, nil
}

// recipient is the key that a gift wrap is for, if it is for one alone; else nil. Who
// made a wrap has thrown his key away: it is the recipient who has it deleted (NIP-59).
func recipient(ev *nostr.Event) (key []byte) {
	if ev.Kind != record.KindGiftWrap {
		return nil
	}
	n := 0
	for _, t := range ev.Tags {
		if len(t) > 0 && t[0] == "p" {
			if n++; n > 1 || len(t) < 2 {
				return nil
			}
			key, _ = column.Hex32(t[1])
		}
	}
	return key
}
