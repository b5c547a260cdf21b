package events

const (
	sqlAnyEvent   = `SELECT seq FROM events WHERE id = ?`
	sqlAnyVersion = `SELECT seq, pubkey, length(json) FROM history WHERE id = ?`
)

// RemoveBanned takes a banned event out of the database. Versions of its
// address in history stay what they are.
func (a *archive) RemoveBanned(id []byte) error {
	row, err := a.Conn().One(sqlAnyEvent, id)
	if err != nil {
		return err
	}
	if row != nil {
		if err := a.removeEvent(row[0].(int64), byBan); err != nil {
			return err
		}
	}
	_, err = a.removeHistory(byBan, sqlAnyVersion, id)
	return err
}
