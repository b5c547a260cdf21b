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
)

// truncatedHeader says, as a header or a trailer, that a cap cut an answer.
const truncatedHeader = "Engramd-Truncated"

// AskHistory is Ask for superseded versions (GET /history), for a filter of one
// kind, one author and at most one d. A relay without /history has ErrNoHistory
// as its error, which makes the answers neither partial nor failed.
func (c *Client) AskHistory(ctx context.Context, filter nostr.Filter) (Answers, error) {
	ctx, cancel := c.operation(ctx)
	defer cancel()
	if len(filter.Kinds) != 1 || len(filter.Authors) != 1 || len(filter.Tags["d"]) > 1 {
		return Answers{}, fmt.Errorf("%w: history is asked for by one kind and one author", ErrRefused)
	}
	col := newCollector()
	start := time.Now()
	all := each(ctx, c.relays(),
		func(ctx context.Context, t target) relayAnswer {
			p := newPager(col, filter, c.o.Limits)
			err := c.history(ctx, t, p)
			return p.answer(t, err, start)
		},
		lateAnswer(start))
	a := unite(all, 0)
	for i, r := range a.Relays {
		a.Relays[i].Complete = r.Complete || errors.Is(r.Err, ErrNoHistory)
	}
	if a.AllFailed() {
		return a, noRelay(a.Relays)
	}
	return a, nil
}

// history asks a relay for the superseded versions that fit the filter, which
// has one kind, one author and at most one d (GET /history, newest first), page
// after page.
func (c *Client) history(ctx context.Context, t target, p *pager) error {
	if t.listed {
		return ErrHistoryUnasked
	}
	for p.more() {
		if err := c.historyPage(ctx, t, p); err != nil {
			return err
		}
	}
	return nil
}

func (c *Client) historyPage(ctx context.Context, t target, p *pager) error {
	f := p.filter
	most := p.budget.limits.Page
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
	resp, err := c.get(ctx, t, "/history", query)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	page := pageCount{oldest: -1, ids: map[string]bool{}}
	body := io.LimitReader(resp.Body, c.o.Limits.BodyBytes+1)
	read, err := readArray(body, func(raw json.RawMessage) error { return p.take(raw, f, &page) })
	switch {
	case err != nil && ctx.Err() != nil:
		return fmt.Errorf("%w: history was cut off", ErrTimeout)
	case read > c.o.Limits.BodyBytes:
		return fmt.Errorf("%w: its history is larger than %d bytes", ErrMisbehaved, c.o.Limits.BodyBytes)
	case err != nil:
		return err
	}
	eose := message{hints: []string{"finish"}}
	if resp.Header.Get(truncatedHeader) != "" || resp.Trailer.Get(truncatedHeader) != "" || len(page.ids) >= most {
		eose.hints = []string{"more"}
	}
	if byArrival(f) {
		p.done, p.before = len(page.ids) == 0 || eose.hinted("finish"), page.last
		return nil
	}
	p.turn(page, eose, f)
	return nil
}

// byArrival reports whether versions come in the order of arrival, the last
// first: those of an address of contract memory. Then the next page begins
// behind the last of this one.
func byArrival(f nostr.Filter) bool {
	return (f.Kinds[0] == kindContractEntry || f.Kinds[0] == kindContractState) && len(f.Tags["d"]) > 0
}

// get sends a signed GET. An answer other than 200 with JSON is an error:
// ErrNoHistory if the relay has no such endpoint, a *RefusalError if it
// refuses.
func (c *Client) get(ctx context.Context, t target, path string, query url.Values) (*http.Response, error) {
	if t.err != nil {
		return nil, t.err
	}
	at, err := httpURL(t.url, path, query)
	if err != nil {
		return nil, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, at, nil)
	if err != nil {
		return nil, fmt.Errorf("relay URL makes no request")
	}
	header, err := c.signRequest(http.MethodGet, at)
	if err != nil {
		return nil, err
	}
	req.Header.Set("Authorization", header)
	req.Header.Set("Accept", "application/json")
	trace := c.tracer(t.url)
	trace(true, []byte("GET "+at))
	resp, err := c.http.Do(req)
	if err != nil {
		if ctx.Err() != nil {
			return nil, fmt.Errorf("%w: no answer over HTTP", ErrTimeout)
		}
		return nil, &httpError{withoutURL(err)}
	}
	trace(false, []byte("HTTP "+resp.Status))
	if err := statusError(resp); err != nil {
		resp.Body.Close()
		return nil, err
	}
	return resp, nil
}

// httpError is why there was no answer over HTTP.
type httpError struct{ cause error }

func (e *httpError) Error() string { return "over HTTP: " + printable(e.cause.Error()) }

// Unwrap gives errors.Is the cause.
func (e *httpError) Unwrap() error { return e.cause }

// errNoHTTP means that a relay answers on its websocket and has no HTTP.
var errNoHTTP = errors.New("not available: it hangs up on HTTP")

// hangsUp reports whether a request over HTTP ended as it does where only a
// websocket is spoken.
func hangsUp(err error) bool {
	return errors.Is(err, io.EOF) || err != nil && strings.Contains(err.Error(), "malformed HTTP")
}

// withoutURL drops the URL, which names an address, from an error of net/http.
func withoutURL(err error) error {
	var at *url.Error
	if errors.As(err, &at) {
		return at.Err
	}
	return err
}

// statusError judges status and content type.
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
	return printable(body.Error)
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
