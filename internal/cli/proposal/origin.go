package proposal

import (
	"context"

	"engramd/internal/memory/proposals"
	"engramd/internal/memory/transplant"
)

// opening is what a Box opens origins with: the text that was signed, as it is kept.
func opening(_ context.Context, p proposals.Proposal) (proposals.Opened, error) {
	_, u, err := OriginOf(p)
	if err != nil {
		return proposals.Opened{}, err
	}
	text, err := u.Planted()
	return proposals.Opened{Text: text, Source: transplant.Source(u.Author), D: u.D, CreatedAt: u.CreatedAt}, err
}

// OriginOf opens the origin of a proposal. Who passes on what he has not signed
// himself is believed too: the event says who did.
func OriginOf(p proposals.Proposal) (o transplant.Origin, u transplant.Unit, err error) {
	if o, err = transplant.ParseOrigin(p.Origin); err == nil {
		u, err = o.Open()
	}
	return o, u, err
}
