// Package unit forwards to package frontmatter, its name before.
//
// Deprecated: import engramd/nips/frontmatter.
package unit

import "engramd/nips/frontmatter"

type (
	Change   = frontmatter.Change
	Doc      = frontmatter.Doc
	Fault    = frontmatter.Fault
	Field    = frontmatter.Field
	Fields   = frontmatter.Fields
	Moment   = frontmatter.Moment
	Pair     = frontmatter.Pair
	Relation = frontmatter.Relation
	Stamp    = frontmatter.Stamp
	State    = frontmatter.State
	Trust    = frontmatter.Trust
	Type     = frontmatter.Type
	Value    = frontmatter.Value
)

const (
	DefaultSalience = frontmatter.DefaultSalience
	DefaultDecay    = frontmatter.DefaultDecay
	MaxHead         = frontmatter.MaxHead
	Link            = frontmatter.Link

	Active     = frontmatter.Active
	Archived   = frontmatter.Archived
	Superseded = frontmatter.Superseded
	Done       = frontmatter.Done

	External = frontmatter.External
	Derived  = frontmatter.Derived
	Observed = frontmatter.Observed
	Told     = frontmatter.Told

	Episodic    = frontmatter.Episodic
	Semantic    = frontmatter.Semantic
	Procedural  = frontmatter.Procedural
	Insight     = frontmatter.Insight
	Prospective = frontmatter.Prospective
	Narrative   = frontmatter.Narrative
)

var (
	ErrValue    = frontmatter.ErrValue
	ErrHead     = frontmatter.ErrHead
	Pictographs = frontmatter.Pictographs
	Joining     = frontmatter.Joining
	Emotions    = frontmatter.Emotions
	Relations   = frontmatter.Relations
	States      = frontmatter.States
	Types       = frontmatter.Types

	Adopted     = frontmatter.Adopted
	At          = frontmatter.At
	Claims      = frontmatter.Claims
	Dated       = frontmatter.Dated
	Hidden      = frontmatter.Hidden
	Mapping     = frontmatter.Mapping
	Number      = frontmatter.Number
	OneLine     = frontmatter.OneLine
	Parse       = frontmatter.Parse
	ParseMoment = frontmatter.ParseMoment
	ParseTrust  = frontmatter.ParseTrust
	Remove      = frontmatter.Remove
	Render      = frontmatter.Render
	Set         = frontmatter.Set
	Shown       = frontmatter.Shown
	Stamped     = frontmatter.Stamped
	String      = frontmatter.String
	Strings     = frontmatter.Strings
	Truth       = frontmatter.Truth
	Visible     = frontmatter.Visible
)
