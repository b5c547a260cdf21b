package events

const (
	sqlAnyBanned  = `SELECT 1 FROM admin_lists WHERE list = 'event' AND verdict = 'banned' LIMIT 1`
	sqlIsBanned   = `SELECT 1 FROM admin_lists WHERE list = 'event' AND key = ? AND verdict = 'banned'`
	sqlAnyEvent   = `SELECT seq FROM events WHERE id = ?`
	sqlAnyVersion = `SELECT seq, pubkey, length(json) FROM history WHERE id = ?`
)

// banned reports whether the operator has banned the event, whoever brings it.
func (w *writer) banned(r *record) (bool, error) {
	if !w.known.banned {
		return false, nil
	}
	return w.c.Exists(sqlIsBanned, r.id)
}

// removeBanned takes a banned event out of the database. Versions of its
// address in history stay what they are.
func (w *writer) removeBanned(id string) error {
	w.known.banned = true
	blob, ok := lowerHex32(id)
	if !ok {
		return nil
	}
	row, err := w.c.One(sqlAnyEvent, blob)
	if err != nil {
		return err
	}
	if row != nil {
		if err := w.removeEvent(row[0].(int64), byBan); err != nil {
			return err
		}
	}
	_, err = w.removeHistory(byBan, sqlAnyVersion, blob)
	return err
}
