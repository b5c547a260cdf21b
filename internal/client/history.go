package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/nbd-wtf/go-nostr"

	"engramd/nips/niptemp"
)

// TruncatedHeader says, as a header or a trailer, that a cap cut an answer.
const TruncatedHeader = "Engramd-Truncated"

// AskHistory is Ask for superseded versions (GET /history), for a filter of one
// kind, one author and at most one d. A relay without /history has ErrNoHistory
// as its error, which makes the answers neither partial nor failed.
func (c *Client) AskHistory(ctx context.Context, filter nostr.Filter) (Answers, error) {
	ctx, cancel := c.Operation(ctx)
	defer cancel()
	if len(filter.Kinds) != 1 || len(filter.Authors) != 1 || len(filter.Tags["d"]) > 1 {
		return Answers{}, fmt.Errorf("%w: history is asked for by one kind and one author", ErrRefused)
	}
	col := NewCollector()
	start := time.Now()
	all := Each(ctx, c.Targets(),
		func(ctx context.Context, t Target) Answer {
			p := NewPager(col, filter, c.o.Limits)
			err := c.HTTP().History(ctx, t, p)
			return p.Answer(t, err, start)
		},
		LateAnswer(start))
	a := Unite(all, 0)
	for i, r := range a.Relays {
		a.Relays[i].Complete = r.Complete || errors.Is(r.Err, ErrNoHistory)
	}
	if a.AllFailed() {
		return a, NoRelay(a.Relays)
	}
	return a, nil
}

// History asks a relay for the superseded versions that fit the filter, which
// has one kind, one author and at most one d (GET /history, newest first), page
// after page.
func (h *HTTP) History(ctx context.Context, t Target, p *Pager) error {
	if t.Listed {
		return ErrHistoryUnasked
	}
	for p.More() {
		if err := h.HistoryPage(ctx, t, p); err != nil {
			return err
		}
	}
	return nil
}

// HistoryPage asks a relay for the next page of versions that were replaced.
func (h *HTTP) HistoryPage(ctx context.Context, t Target, p *Pager) error {
	f := p.filter
	most := p.budget.Limits.Page
	if f.Limit > 0 {
		most = min(most, f.Limit-p.count)
	}
	query := url.Values{"kind": {strconv.Itoa(f.Kinds[0])}, "author": {f.Authors[0]}, "limit": {strconv.Itoa(most)}}
	if d := f.Tags["d"]; len(d) > 0 {
		query.Set("d", d[0])
	}
	if p.until != nil {
		f.Until = p.until
		query.Set("until", strconv.FormatInt(int64(*p.until), 10))
	}
	if p.before != "" {
		query.Set("before", p.before)
	}
	page := pageCount{oldest: -1, ids: map[string]bool{}}
	cut, err := h.Versions(ctx, t, query, nil, func(raw json.RawMessage) error { return p.take(raw, f, &page) })
	if err != nil {
		return err
	}
	eose := Message{hints: []string{"finish"}}
	if cut || len(page.ids) >= most {
		eose.hints = []string{"more"}
	}
	if (f.Kinds[0] == niptemp.KindEntry || f.Kinds[0] == niptemp.KindState) && len(f.Tags["d"]) > 0 {
		// Versions of an address of contract memory come in the order of arrival, the
		// last first: the next page begins behind the last of this one.
		p.done, p.before = len(page.ids) == 0 || eose.hinted("finish"), page.last
		return nil
	}
	p.turn(page, eose, f)
	return nil
}

// Versions asks a relay for superseded versions (GET /history) and calls take
// with each as it comes. head judges the header before; nil judges nothing. cut
// says that a cap cut the answer. An answer other than 200 with JSON is an
// error: ErrNoHistory if the relay has no such endpoint, a *RefusalError if it
// refuses.
func (h *HTTP) Versions(ctx context.Context, t Target, query url.Values, head func(http.Header) error, take func(json.RawMessage) error) (cut bool, err error) {
	req, err := h.signed(ctx, t, http.MethodGet, "/history", query, nil)
	if err != nil {
		return false, err
	}
	req.Header.Set("Accept", jsonType)
	resp, err := h.exchange(t, req)
	if err != nil {
		return false, err
	}
	defer resp.Body.Close()
	if err := statusError(resp); err != nil {
		return false, err
	}
	if head != nil {
		if err := head(resp.Header); err != nil {
			return false, err
		}
	}
	read, err := readArray(io.LimitReader(resp.Body, h.o.Limits.BodyBytes+1), take)
	switch {
	case err != nil && ctx.Err() != nil:
		return false, fmt.Errorf("%w: history was cut off", ErrTimeout)
	case read > h.o.Limits.BodyBytes:
		return false, fmt.Errorf("%w: its history is larger than %d bytes", ErrMisbehaved, h.o.Limits.BodyBytes)
	}
	return resp.Header.Get(TruncatedHeader) != "" || resp.Trailer.Get(TruncatedHeader) != "", err
}

// httpError is why there was no answer over HTTP.
type httpError struct{ cause error }

func (e *httpError) Error() string { return "over HTTP: " + Printable(e.cause.Error()) }

// Unwrap gives errors.Is the cause.
func (e *httpError) Unwrap() error { return e.cause }

// ErrNoHTTP means that a relay answers on its websocket and has no HTTP.
var ErrNoHTTP = errors.New("not available: it hangs up on HTTP")

// HangsUp reports whether a request over HTTP ended as it does where only a
// websocket is spoken.
func HangsUp(err error) bool {
	return errors.Is(err, io.EOF) || err != nil && strings.Contains(err.Error(), "malformed HTTP")
}

func statusError(resp *http.Response) error {
	kind, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	isJSON := kind == "application/json"
	switch s := resp.StatusCode; {
	case s == http.StatusOK && isJSON:
		return nil
	case s == http.StatusNotFound, s == http.StatusMethodNotAllowed, s == http.StatusNotImplemented,
		s == http.StatusUpgradeRequired, s < 400, s == http.StatusBadRequest && !isJSON:
		return fmt.Errorf("%w (HTTP status %d)", ErrNoHistory, s)
	}
	refusal := &RefusalError{Message: refusalText(resp)}
	switch resp.StatusCode {
	case http.StatusUnauthorized, http.StatusForbidden:
		return fmt.Errorf("%w over HTTP: %s", ErrAuth, refusal.Error())
	}
	return fmt.Errorf("%w over HTTP with status %d: %s", ErrRefused, resp.StatusCode, refusal.Error())
}

// refusalText returns the error that an answer names, or "".
func refusalText(resp *http.Response) string {
	var body struct {
		Error string `json:"error"`
	}
	b, err := io.ReadAll(io.LimitReader(resp.Body, 4<<10))
	if err != nil || json.Unmarshal(b, &body) != nil {
		return ""
	}
	return Printable(body.Error)
}

// readArray calls take with each element of a JSON array, as they come, and
// returns how many bytes it has read. An array that does not end is an error.
func readArray(r io.Reader, take func(json.RawMessage) error) (read int64, err error) {
	dec := json.NewDecoder(r)
	broken := func() error { return fmt.Errorf("%w: its history is no JSON array of events", ErrMisbehaved) }
	if token, err := dec.Token(); err != nil || token != json.Delim('[') {
		return dec.InputOffset(), broken()
	}
	for dec.More() {
		var raw json.RawMessage
		if err := dec.Decode(&raw); err != nil {
			return dec.InputOffset(), broken()
		}
		if err := take(raw); err != nil {
			return dec.InputOffset(), err
		}
	}
	if _, err := dec.Token(); err != nil {
		return dec.InputOffset(), broken()
	}
	// Trailers are known at the end of the body only.
	rest, err := io.Copy(io.Discard, io.MultiReader(dec.Buffered(), r))
	if err != nil {
		return dec.InputOffset(), broken()
	}
	return dec.InputOffset() + rest, nil
}
