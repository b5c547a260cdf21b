// Package thinker has somebody think about a plan who is not the agent in its own
// session: a program that is started for it (Child), or a model server (Server).
// Both are given the plan's text and answer with operations. Whether those may be
// done is not judged here: see internal/memory/consolidation and internal/memory/consolidation/plans.
//
// Nothing is asked unless somebody names it, one thinker at a time thinks on a
// machine (Take), so often a day and no oftener (Turn.Spend), and what it says is
// bounded before it is read.
package thinker

import (
	"context"
	"errors"
	"time"

	"engramd/internal/memory/consolidation"
)

// Bounds of one thought.
const (
	MaxPlan      = 1 << 20 // bytes that are given
	MaxAnswer    = 1 << 20 // bytes that are taken
	DefaultLimit = 5 * time.Minute
)

// Thinker judges what a plan shows.
type Thinker interface {
	// Think gives the plan's text to whoever thinks, and returns what is to be done.
	// Errors are ErrFailed and ErrAnswer, and those of the context.
	Think(ctx context.Context, plan string) ([]consolidation.Op, error)
}

// What thinking fails with. None of them has changed anything.
var (
	// ErrFailed is a thinker that could not be asked, or came to no end.
	ErrFailed = errors.New("the thinker failed")
	// ErrAnswer is an answer that is none.
	ErrAnswer = errors.New("the thinker's answer cannot be used")
	// ErrBusy means that another one thinks.
	ErrBusy = errors.New("a thinker is at work on this machine already; if it was started by one, it is not to start another")
	// ErrBudget means that enough was thought for today.
	ErrBudget = errors.New("the thinkers of this machine were asked often enough today")
)
