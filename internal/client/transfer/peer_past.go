package transfer

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/client"
)

// positionHeader and timeHeader say where a relay stood when it was asked for
// everybody's history: its last number, and its time in Unix seconds.
const (
	positionHeader = "Engramd-Position"
	timeHeader     = "Engramd-Time"
)

// pastPageSize is how many versions are asked for at a time: of the largest, not
// more bytes than an answer may have.
const pastPageSize = 200

// PastQuery asks for everybody's superseded versions. Only kinds of the filter
// are asked for; what does not fit it otherwise is passed over.
type PastQuery struct {
	Filter nostr.Filter
	After  int64  // only what arrived after this number
	Since  *int64 // no contract memory, and only what was superseded at this time or later
	// Came is told after each page the number of its last version; an error ends
	// it. nil: nobody.
	Came func(after int64) error
}

// PastAt is where a relay stood when it was asked.
type PastAt struct{ Number, Time int64 }

// Past calls take with the superseded versions of everybody, in the order of
// their arrival (GET /history without author, for keys of gate.replicas).
// ErrNoHistory: the relay has no such endpoint; ErrAuth: it is not for this
// key.
func (p *Peer) Past(ctx context.Context, q PastQuery, take func(*nostr.Event) error) (at PastAt, err error) {
	if p.c.Identity().PubKey() == "" {
		return at, fmt.Errorf("%w to nobody", client.ErrNoHistory)
	}
	rejected := 0 // in all
	for first, more := true, true; more; first = false {
		var now PastAt
		before := q.After
		err := p.step(ctx, func(ctx context.Context) (err error) {
			spent := client.Budget{Limits: p.c.Options().Limits, Rejected: rejected} // of one page: an honest relay may have any number
			now, more, err = p.pastPage(ctx, &q, &spent, take)
			rejected = spent.Rejected
			return err
		})
		switch {
		case err != nil:
			return at, err
		case more && q.After == before:
			return at, fmt.Errorf("%w: a page of its history is empty and not the last", client.ErrMisbehaved)
		}
		if first {
			at = now
		}
		if q.Came != nil {
			if err := q.Came(q.After); err != nil {
				return at, err
			}
		}
	}
	return at, nil
}

// pastPage takes one page and goes on behind its last version.
func (p *Peer) pastPage(ctx context.Context, q *PastQuery, spent *client.Budget, take func(*nostr.Event) error) (at PastAt, more bool, err error) {
	head := func(h http.Header) error {
		var errs [2]error
		at.Number, errs[0] = strconv.ParseInt(h.Get(positionHeader), 10, 64)
		at.Time, errs[1] = strconv.ParseInt(h.Get(timeHeader), 10, 64)
		if errors.Join(errs[:]...) != nil || at.Number < 0 || at.Time < 0 {
			return fmt.Errorf("%w (of everybody)", client.ErrNoHistory)
		}
		return nil
	}
	last, count := q.After, 0
	col := &client.Collector{}
	cut, err := p.c.HTTP().Versions(ctx, p.t, q.values(pastPageSize), head, func(raw json.RawMessage) error {
		if err := spent.Spend(len(raw)); err != nil {
			return err
		}
		var place struct{ Seq int64 }
		if json.Unmarshal(raw, &place) != nil || place.Seq <= last {
			return fmt.Errorf("%w: its history is not in the order of arrival", client.ErrMisbehaved)
		}
		last, count = place.Seq, count+1
		ev, err := col.Admit(raw, q.Filter)
		if errors.Is(err, client.ErrStray) {
			return nil // more than kinds cannot be asked for
		}
		if err != nil {
			return spent.Reject(err)
		}
		return take(ev)
	})
	if err != nil {
		return at, false, noPast(err)
	}
	q.After = last
	return at, cut || count >= pastPageSize, nil
}

func (q *PastQuery) values(page int) url.Values {
	values := url.Values{"after": {strconv.FormatInt(q.After, 10)}, "limit": {strconv.Itoa(page)}}
	if q.Filter.Kinds != nil {
		values.Set("kind", strings.Trim(strings.ReplaceAll(fmt.Sprint(q.Filter.Kinds), " ", ","), "[]"))
	}
	if q.Since != nil {
		values.Set("since", strconv.FormatInt(*q.Since, 10))
	}
	return values
}

// noPast makes ErrNoHistory of the answer of a relay that knows history by
// author only.
func noPast(err error) error {
	if errors.Is(err, client.ErrRefused) && strings.Contains(err.Error(), fmt.Sprintf("status %d:", http.StatusBadRequest)) {
		return fmt.Errorf("%w (of everybody)", client.ErrNoHistory)
	}
	return err
}
