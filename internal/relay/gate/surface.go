package gate

// Surface is a way by which events, or a number of them, leave the relay. The
// relay's read calls take one, metrics count the gate's decisions by it, and
// the gate's table over real sockets has a driver for each: the drivers are an
// array of NumSurfaces elements, which does not compile while one is missing
// at its end.
//
// To add a way of reading: name it here, pass it where the relay is asked, and
// write its driver in internal/e2e/gate/surfaces_test.go.
type Surface uint8

// The surfaces. The zero Surface is none.
const (
	_             Surface = iota
	SurfaceReq            // stored events in answer to a REQ
	SurfaceLive           // events delivered to an open subscription
	SurfaceCount          // COUNT (NIP-45)
	SurfaceSearch         // search hits in answer to a REQ (NIP-50)

	SurfaceSync // the ids of a reconciliation (NIP-77)

	SurfaceQuery     // POST /query
	SurfaceHTTPCount // POST /count
	SurfaceHistory   // GET /history: superseded versions
	SurfacePast      // GET /history without author: everybody's, for replicas

	SurfaceContracts     // GET /api/escrow/contracts: one's own
	SurfaceContract      // one contract
	SurfaceThread        // the entries of its memory
	SurfaceThreadEntry   // one entry
	SurfaceThreadSummary // what their numbers tell
	SurfaceThreadSearch  // entries with the words of a query
	SurfaceThreadOrder   // in which order all arrived
	SurfaceTransitions   // GET /api/escrow/contracts/ID/transitions: its moves

	surfaceEnd
)

// NumSurfaces is one more than the greatest Surface: the length of an array
// that is indexed by Surface.
const NumSurfaces = int(surfaceEnd)

// surfaceNames are metric labels.
var surfaceNames = [NumSurfaces]string{
	SurfaceReq:       "req",
	SurfaceLive:      "live",
	SurfaceCount:     "count",
	SurfaceSearch:    "search",
	SurfaceSync:      "sync",
	SurfaceQuery:     "query",
	SurfaceHTTPCount: "http_count",
	SurfaceHistory:   "history",
	SurfacePast:      "past",

	SurfaceContracts:     "contracts",
	SurfaceContract:      "contract",
	SurfaceThread:        "thread",
	SurfaceThreadEntry:   "thread_entry",
	SurfaceThreadSummary: "thread_summary",
	SurfaceThreadSearch:  "thread_search",
	SurfaceThreadOrder:   "thread_order",
	SurfaceTransitions:   "transitions",
}

// Surfaces returns every surface.
func Surfaces() []Surface {
	all := make([]Surface, 0, NumSurfaces-1)
	for s := SurfaceReq; s < surfaceEnd; s++ {
		all = append(all, s)
	}
	return all
}

// String returns the metric label of the surface, "unknown" for none of them.
func (s Surface) String() string {
	if s == 0 || s >= surfaceEnd {
		return "unknown"
	}
	return surfaceNames[s]
}
