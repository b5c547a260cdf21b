package events

import (
	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/store/sqlite/column"
	"engramd/internal/store/sqlite/engine"
)

func key(value string) engine.Value            { return column.Of(value) }
func unkey(v engine.Value) (string, error)     { return column.Text(v) }
func lowerHex32(s string) ([]byte, bool)       { return column.Hex32(s) }
func isLowerHex(s []byte) bool                 { return column.IsHex(s) }
func hexOf(v engine.Value) string              { return column.HexOf(v) }
func bytesOrNil(b []byte) engine.Value         { return column.BytesOrNil(b) }
func timeOrNil(at int64) engine.Value          { return column.TimeOrNil(at) }
func boolInt(b bool) int64                     { return column.Bool(b) }
func parsed(json []byte) (*nostr.Event, error) { return column.Event(json) }

var errStoredRow = column.ErrDamaged
