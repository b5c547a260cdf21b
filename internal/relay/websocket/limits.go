package websocket

import (
	"engramd/internal/protocol/wire"
	"engramd/internal/relay/config"
)

// Limits bound what one client, and all of them together, can make the relay
// hold or do.
type (
	Limits     = config.Bounds
	SyncLimits = config.SyncBounds
)

// wireLimits bound what is in one message.
var wireLimits = wire.Limits{Filters: config.Filters, FilterValues: config.FilterValues}

// hardCap returns the size of a message that ends the connection instead of
// being read to its end and answered.
func hardCap(l *Limits) int { return 8 * l.MessageBytes }

// One page of stored events holds at most these rows and bytes, unless a single
// event is larger.
const (
	pageRows  = 128
	pageBytes = 256 << 10
)
