package events

import (
	"engramd/internal/relay/gate"
	"engramd/internal/relay/store/sqlite/engine"
)

// remover does what authors ask to be removed, at once or in a job.
type remover struct {
	archive
	table *gate.Table
}

// member is the one that is being applied, nil for a command.
func (rm *remover) member() *engine.Member {
	if rm.current == nil {
		return nil
	}
	return &rm.current.Member
}

// unfinished is a request that a crash or a shutdown left unfinished.
type unfinished struct {
	request int64 // its seq
	job     *engine.Job
}
