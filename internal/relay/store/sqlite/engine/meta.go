package engine

// Meta reads a text of the table meta, "" when it is not there.
func (c *Conn) Meta(name string) (string, error) {
	row, err := c.One(`SELECT value FROM meta WHERE key = ?`, name)
	if err != nil || row == nil {
		return "", err
	}
	s, _ := row[0].(string)
	return s, nil
}

// SetMeta writes a value of the table meta.
func (w *changes) SetMeta(name string, value Value) error {
	_, err := w.Exec(`INSERT INTO meta(key, value) VALUES (?1, ?2) ON CONFLICT (key) DO UPDATE SET value = ?2`, name, value)
	return err
}

// DropMeta removes a value of the table meta.
func (w *changes) DropMeta(name string) error {
	_, err := w.Exec(`DELETE FROM meta WHERE key = ?`, name)
	return err
}
