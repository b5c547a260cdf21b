package store

import "context"

// Ready proves that the database takes writes, by making a small one that goes through the same commit as events do.
func (s *Store) Ready(ctx context.Context) error {
	return s.do(ctx, func(w *writer) error {
		_, err := w.c.exec("INSERT INTO meta(key, value) VALUES('ready.probe', 1) ON CONFLICT(key) DO UPDATE SET value = value + 1")
		return err
	})
}
