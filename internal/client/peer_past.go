package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/nbd-wtf/go-nostr"
)

// positionHeader says which number was the relay's last when it was asked for
// everybody's history.
const positionHeader = "Engramd-Position"

// Past calls take with the superseded versions of everybody that fit the filter
// and whose number at the relay is greater than after, in the order of their
// arrival (GET /history without author, for keys of gate.replicas). It returns
// the number up to which nothing is missing but what was a head when it was
// asked. Only kinds are asked for by the relay; others that do not fit are
// passed over. ErrNoHistory: the relay has no such endpoint; ErrAuth: it is not
// for this key.
func (p *Peer) Past(ctx context.Context, f nostr.Filter, after int64, take func(*nostr.Event) error) (position int64, err error) {
	spent := budget{limits: p.c.o.Limits}
	for first, more := true, true; more; first = false {
		var at int64
		before := after
		err := p.step(ctx, func(ctx context.Context) (err error) {
			at, after, more, err = p.pastPage(ctx, f, after, &spent, take)
			return err
		})
		switch {
		case err != nil:
			return 0, err
		case more && after == before:
			return 0, fmt.Errorf("%w: a page of its history is empty and not the last", ErrMisbehaved)
		}
		if first {
			position = at
		}
	}
	return position, nil
}

// pastPage takes one page and returns the number of its last version.
func (p *Peer) pastPage(ctx context.Context, f nostr.Filter, after int64, spent *budget, take func(*nostr.Event) error) (position, last int64, more bool, err error) {
	query := url.Values{"after": {strconv.FormatInt(after, 10)}, "limit": {strconv.Itoa(spent.limits.Page)}}
	if f.Kinds != nil {
		query.Set("kind", strings.Trim(strings.ReplaceAll(fmt.Sprint(f.Kinds), " ", ","), "[]"))
	}
	resp, err := p.c.get(ctx, p.t, "/history", query)
	if err != nil {
		return 0, after, false, noPast(err)
	}
	defer resp.Body.Close()
	if position, err = strconv.ParseInt(resp.Header.Get(positionHeader), 10, 64); err != nil || position < 0 {
		return 0, after, false, fmt.Errorf("%w (of everybody)", ErrNoHistory)
	}
	last, count := after, 0
	col := &collector{}
	body := io.LimitReader(resp.Body, p.c.o.Limits.BodyBytes+1)
	read, err := readArray(body, func(raw json.RawMessage) error {
		if err := spent.spend(len(raw)); err != nil {
			return err
		}
		var place struct{ Seq int64 }
		if json.Unmarshal(raw, &place) != nil || place.Seq <= last {
			return fmt.Errorf("%w: its history is not in the order of arrival", ErrMisbehaved)
		}
		last, count = place.Seq, count+1
		ev, err := col.admit(raw, f)
		if errors.Is(err, errStray) {
			return nil // more than kinds cannot be asked for
		}
		if err != nil {
			return spent.reject(err)
		}
		return take(ev)
	})
	switch {
	case err != nil && ctx.Err() != nil:
		return 0, after, false, fmt.Errorf("%w: history was cut off", ErrTimeout)
	case read > p.c.o.Limits.BodyBytes:
		return 0, after, false, fmt.Errorf("%w: its history is larger than %d bytes", ErrMisbehaved, p.c.o.Limits.BodyBytes)
	case err != nil:
		return 0, after, false, err
	}
	more = resp.Header.Get(truncatedHeader) != "" || resp.Trailer.Get(truncatedHeader) != "" || count >= spent.limits.Page
	return position, last, more && last > after, nil
}

// noPast makes ErrNoHistory of the answer of a relay that knows history by
// author only.
func noPast(err error) error {
	if errors.Is(err, ErrRefused) && strings.Contains(err.Error(), fmt.Sprintf("status %d:", http.StatusBadRequest)) {
		return fmt.Errorf("%w (of everybody)", ErrNoHistory)
	}
	return err
}
