package gate

// Surface is a way by which events, or a number of them, leave the relay. The
// gate's table test needs a driver for every surface: its drivers stand in an
// array of SurfaceCount elements, so that a surface added here without one
// does not compile there. Metrics count the gate's decisions by surface.
//
// To add a way of reading: name it here, pass it where the relay asks for the
// surface, write its driver in internal/e2e/gate_surface_test.go.
type Surface uint8

// The surfaces. The zero Surface is none.
const (
	_         Surface = iota
	ReqStored         // stored events in answer to a REQ
	ReqLive           // events delivered to an open subscription
	Count             // COUNT (NIP-45)
	Search            // search hits in answer to a REQ (NIP-50)

	surfaceEnd
)

// SurfaceCount is one more than the greatest Surface: the length of an array
// that is indexed by Surface.
const SurfaceCount = int(surfaceEnd)

// Surfaces returns every surface.
func Surfaces() []Surface {
	all := make([]Surface, 0, SurfaceCount-1)
	for s := ReqStored; s < surfaceEnd; s++ {
		all = append(all, s)
	}
	return all
}

// String is the metric label of the surface.
func (s Surface) String() string {
	switch s {
	case ReqStored:
		return "req-stored"
	case ReqLive:
		return "req-live"
	case Count:
		return "count"
	case Search:
		return "search"
	}
	return "unknown"
}
