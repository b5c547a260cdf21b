package column_test

import (
	"bytes"
	"strings"
	"testing"

	"engramd/internal/relay/store/sqlite/column"
)

func TestKeysAreBlobs(t *testing.T) {
	key := strings.Repeat("0f", 32)
	for value, blob := range map[string]bool{
		key: true, strings.ToUpper(key): false, key[1:]: false, key + "0": false, "": false, key[:63] + "g": false, "mem/a": false,
	} {
		v := column.Of(value)
		if _, ok := v.([]byte); ok != blob {
			t.Errorf("%q lies as %T", value, v)
		}
		if again, err := column.Text(v); err != nil || again != value {
			t.Errorf("%q comes back as %q, %v", value, again, err)
		}
		raw, ok := column.Hex32(value)
		if ok != blob || ok && column.HexOf(raw) != value {
			t.Errorf("%q is %x, %t", value, raw, ok)
		}
	}
	if _, err := column.Text(int64(1)); err == nil {
		t.Error("a number was taken for a key")
	}
	if !column.IsHex("0af9") || column.IsHex("0AF9") || column.IsHex("g") {
		t.Error("lower-case hex is not told from others")
	}
}

func TestWhatIsMissingIsNull(t *testing.T) {
	if v := column.BytesOrNil([]byte{}); v == nil || !bytes.Equal(v.([]byte), []byte{}) {
		t.Errorf("an empty BLOB is %v", v)
	}
	if column.BytesOrNil(nil) != nil || column.TimeOrNil(0) != nil || column.TimeOrNil(7) != int64(7) {
		t.Error("NULL is not what is missing")
	}
	if column.Bool(true) != 1 || column.Bool(false) != 0 {
		t.Error("a bool is not 1 or 0")
	}
}

func TestStoredEventsAreRead(t *testing.T) {
	if _, err := column.Event([]byte(`{"id":1}`)); err == nil || !strings.HasPrefix(err.Error(), "stored event: ") {
		t.Errorf("what is no event: %v", err)
	}
}
