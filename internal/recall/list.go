package recall

import (
	"time"

	"engramd/nips/unit"
)

// Listed is what the index knows of a document without its text.
type Listed struct {
	Slug          string
	Type          unit.Type
	State         unit.State
	Trust         unit.Trust
	When, Created time.Time
}

// All returns what the index holds, in no order.
func (x *Index) All() []Listed {
	all := make([]Listed, 0, len(x.bySlug))
	for _, id := range x.bySlug {
		d := &x.docs[id]
		all = append(all, Listed{Slug: d.slug, Type: d.typ, State: d.state, Trust: d.trust, When: moment(d.when), Created: moment(d.created)})
	}
	return all
}

// moment is the time of Unix seconds; 0 is none.
func moment(unix int64) time.Time {
	if unix == 0 {
		return time.Time{}
	}
	return time.Unix(unix, 0).UTC()
}
