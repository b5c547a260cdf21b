package wiring

import (
	"testing"

	"engramd/internal/relay/config"
	"engramd/internal/relay/policy"
)

func TestRoomOn(t *testing.T) {
	const gb = 1_000_000_000
	for _, tt := range []struct {
		name    string
		d       disk
		used    int64
		most    int64
		cluster bool
		want    policy.RoomBounds
		tight   bool
	}{
		{"a number", disk{100 * gb, gb}, 50 * gb, 10 * gb, false, policy.RoomBounds{Max: 10 * gb, Reserve: gb}, false},
		{"no limit", disk{100 * gb, gb}, 50 * gb, 0, false, policy.RoomBounds{}, false},
		{"a tenth is left", disk{100 * gb, 60 * gb}, 5 * gb, config.Auto, false, policy.RoomBounds{Max: 55 * gb, Reserve: 5 * gb}, false},
		{"little beyond a tenth", disk{100 * gb, 12 * gb}, 5 * gb, config.Auto, false, policy.RoomBounds{Max: 7 * gb, Reserve: 7 * gb / 2}, false},
		{"hardly a tenth", disk{100 * gb, 10*gb + 1}, 5 * gb, config.Auto, false, policy.RoomBounds{Max: 10 * gb, Reserve: 5 * gb}, true},
		{"less", disk{100 * gb, 2 * gb}, 88 * gb, config.Auto, false, policy.RoomBounds{Max: 89 * gb, Reserve: 5 * gb}, true},
		{"a new one beside much else", disk{100 * gb, 12 * gb}, 0, config.Auto, false, policy.RoomBounds{Max: 2 * gb, Reserve: gb}, false},
		{"a new one beside more", disk{100 * gb, 4 * gb}, 0, config.Auto, false, policy.RoomBounds{Max: 2 * gb, Reserve: gb}, true},
		{"a node", disk{100 * gb, 60 * gb}, 5 * gb, config.Auto, true, policy.RoomBounds{Max: 55 * gb, Reserve: 5 * gb, Whole: true}, false},
		{"a node without a limit", disk{100 * gb, 60 * gb}, 5 * gb, 0, true, policy.RoomBounds{Max: 55 * gb, Reserve: 5 * gb, Whole: true}, false},
	} {
		if got, tight := roomOn(tt.d, tt.used, tt.most, tt.cluster); got != tt.want || tight != tt.tight {
			t.Errorf("%s: %+v, %v; want %+v, %v", tt.name, got, tight, tt.want, tt.tight)
		}
	}
	cfg := config.Default()
	cfg.Data = t.TempDir()
	if b, _, err := Room(cfg); err != nil || b.Max <= 0 || b.Reserve <= 0 || b.Reserve >= b.Max || b.Whole {
		t.Errorf("here: %+v, %v", b, err)
	}
}

// Strangers who fill their part, and have the relay started again whenever they have,
// do not get at what is kept: it is measured anew each time.
func TestStartsKeepTheReserve(t *testing.T) {
	const gb = 1_000_000_000
	for _, free := range []int64{60 * gb, 14 * gb, 11*gb + 1, 6 * gb, 2 * gb} {
		d, used := disk{100 * gb, free}, int64(0)
		first, _ := roomOn(d, used, config.Auto, false)
		for start := range 50 {
			b, _ := roomOn(d, used, config.Auto, false)
			if b.Reserve < first.Reserve || b.Max-used < first.Reserve {
				t.Fatalf("%d GB free at first: start %d leaves %d of %d, and %d was kept", free/gb, start, b.Max-used, b.Max, first.Reserve)
			}
			more := max(0, b.Max-b.Reserve-used)
			d.free, used = d.free-more, used+more
		}
	}
}
