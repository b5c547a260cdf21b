// Package events is what events do to a store: it opens it, is what the engine's
// writer calls, and executes commands. What an event does to the database and how a
// filter finds it again is in the packages below; DESIGN.md says which, how it all
// works and what must stay so. Every read takes a gate.Scope.
package events
