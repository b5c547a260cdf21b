package storetest

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"testing"

	"engramd/internal/relay/store/sqlite/engine"
)

// OnWriter runs statements on the connection that writes, in a transaction, and
// returns the first column of the last one's rows. The database is what a
// package on top of the engine tells its own tests.
func OnWriter(db *engine.DB, statements ...string) (out []engine.Value, err error) {
	err = db.Apart(context.Background(), func(w *engine.Writer) error {
		for _, text := range statements {
			if out, err = firstColumn(context.Background(), w.Conn(), text); err != nil {
				return fmt.Errorf("%s: %w", text, err)
			}
		}
		return nil
	})
	return out, err
}

// OnReader runs a query on a pooled reader and returns the first column.
func OnReader(ctx context.Context, db *engine.DB, text string) (out []engine.Value, err error) {
	err = db.Read(ctx, engine.Scan, func(ctx context.Context, c *engine.Conn) error {
		out, err = firstColumn(ctx, c, text)
		return err
	})
	return out, err
}

func firstColumn(ctx context.Context, c *engine.Conn, text string) (out []engine.Value, err error) {
	err = c.Query(ctx, text, nil, func(v engine.Row) error {
		out = append(out, v[0])
		return nil
	})
	return out, err
}

// Rows counts the rows of a table under a condition.
func Rows(t *testing.T, db *engine.DB, from string, args ...any) int {
	t.Helper()
	out, err := OnReader(t.Context(), db, fmt.Sprintf("SELECT count(*) FROM "+from, args...))
	if err != nil {
		t.Fatal(err)
	}
	return int(out[0].(int64))
}

// Payload looks like the smallest NIP-44 v2 payload: version byte, nonce, 34
// bytes of ciphertext, MAC. It cannot be decrypted. The same seed gives the
// same payload.
func Payload(seed string) string {
	b := make([]byte, 0, 128)
	for sum := sha256.Sum256([]byte(seed)); len(b) < 99; sum = sha256.Sum256(sum[:]) {
		b = append(b, sum[:]...)
	}
	b[0] = 2
	return base64.StdEncoding.EncodeToString(b[:99])
}
