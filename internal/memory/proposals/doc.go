// Package proposals is how others contribute to an agent's memory without
// writing it: only the agent signs that. Whoever wants something added, corrected
// or removed proposes it, as an engram in the reversed pair (author the proposer,
// p tag the agent, slug mem/proposals/<id>, address nipae.ProposalAddress), and
// the agent accepts or rejects it.
//
// A [Proposal] and an [Answer] are texts with front matter, read and written
// without I/O. A [Box] is the agent's side over a client: what its owner and the
// keys that it listed have proposed, and what becomes of it. An [Author] is the
// other side.
//
// Accepting writes with the base of the proposal: a text that has changed since is
// a conflict, and nothing is written. What is written says by whom it was proposed
// (source), and how far it may be believed: from the owner, a text is told, while
// a correction keeps the trust of what it corrects unless the owner vouches for
// the whole of it; from anybody else it is external, new, and below
// mem/from/<who>/. The answer is written after the memory: accepting again after a
// crash in between finds the memory written, and answers.
package proposals
