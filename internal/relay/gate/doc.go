// Package gate decides who may read what. It is pure: no I/O, no clock, no
// global state; the same table, reader, filter and event always give the same
// decision.
//
// There are two checks, and both are needed.
//
// The first looks at a filter before anything is read: [Table.ScopeFor] either
// returns a [Scope] or a [*Refusal] that says what would work. It knows the
// filter and the reader only, so a refusal cannot tell anything about what is
// stored.
//
// The second looks at each event that is about to leave: [Scope.CanRead]. The
// Scope is what that very filter was granted: the reader's own keys, the ids
// the filter named, the contracts it named. The store has the same grant as
// [Scope.Clauses] and puts it in WHERE, so that counts, limits and paging know
// nothing of what the reader must not learn.
//
// The built-in rules follow from the table of kinds in kinds.go; configuration
// can extend but not weaken them:
//
//	class     readers                or a filter that names  kind
//	engram    author, p              its id                  30174
//	contract  author, p, arbitrator  its id, its d           30090, 30091
//	sealed    author, p              its id                  30090 whose content is no JSON object
//	wrap      p                                              1059, 21059, 44200
//	direct    author, p                                      4, 24200
//	deletion  author                                         5 that names a gated kind, or an event not found open
//	approval  author                                         30078 with d = engramd/agents
//	deletion  author                                         5 that names a gated kind, and events found open
//	own       author                                         30179, 30300
//
// An arbitrator is one whom both parties of a contract agreed on. The gate does
// not know contracts: who asks it hands over the reader's cases ([Case]). A
// filter is refused by the rule of its kinds; those of which only single events
// are gated refuse none.
//
// Keys of gate.replicas ([Options.Replicas]) read every event of these classes,
// in answer to any filter, as if each rule said "everybody". They are asked for
// in one place ([Table.Replicates]), by the table in force at that moment.
//
// A deletion request names a gated kind by its k and a tags, or it names events
// by their ids: it is open only if each of those was found, when it was stored,
// as an open event of its author. The store knows, and keeps the verdict as the
// request's class.
//
// Lists in filters: a nil list is no constraint. A list that is present and
// empty matches nothing, so it satisfies no rule either: a filter that needs
// authors, #p, #d or ids to be let through is refused when that list is empty,
// exactly as if it were absent. A filter that needs none (only open kinds, or
// an empty kinds list) is served, and matches nothing.
package gate
