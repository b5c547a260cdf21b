package model

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// longest is the longest time that a server may ask for: more is as much.
const longest = 24 * time.Hour

// Post sends a request and reads the answer. Neither texts, key nor what the
// server says stand in an error. Errors are ErrFailed, with ErrRefused and *Later,
// and ErrAnswer.
func (s *Server) Post(ctx context.Context, in, out any) error {
	body, err := json.Marshal(in)
	if err != nil {
		return err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, s.endpoint, bytes.NewReader(body))
	if err != nil {
		return fmt.Errorf("%w: %w", ErrURL, err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json")
	if s.key != "" {
		req.Header.Set("Authorization", "Bearer "+s.key)
	}
	resp, err := s.http.Do(req)
	if err != nil {
		return failed(ctx, err)
	}
	defer resp.Body.Close()
	if err := refusal(resp); err != nil {
		return err
	}
	if strings.HasPrefix(strings.ToLower(resp.Header.Get("Content-Type")), "text/event-stream") {
		return fmt.Errorf("%w: it streams, and was asked for one answer", ErrAnswer)
	}
	data, err := io.ReadAll(io.LimitReader(resp.Body, s.maxAnswer+1))
	if err != nil {
		return failed(ctx, err)
	}
	if int64(len(data)) > s.maxAnswer {
		return fmt.Errorf("%w: it is longer than %d bytes", ErrAnswer, s.maxAnswer)
	}
	if err := json.Unmarshal(data, out); err != nil {
		return fmt.Errorf("%w: it is not the JSON that was asked for", ErrAnswer)
	}
	return nil
}

// refusal is what a status says that is no answer.
func refusal(resp *http.Response) error {
	switch code := resp.StatusCode; code {
	case http.StatusOK:
		return nil
	case http.StatusBadRequest, http.StatusRequestEntityTooLarge, http.StatusUnprocessableEntity, http.StatusInternalServerError:
		return fmt.Errorf("%w: HTTP status %d", ErrRefused, code)
	case http.StatusTooManyRequests, http.StatusServiceUnavailable:
		return &Later{Status: code, After: after(resp.Header)}
	default:
		if code >= 300 && code < 400 {
			return fmt.Errorf("%w: HTTP status %d: redirects are not followed", ErrFailed, code)
		}
		return fmt.Errorf("%w: HTTP status %d", ErrFailed, code)
	}
}

// after reads Retry-After: seconds, or a time, of which the server's own clock
// says how far off it is.
func after(h http.Header) time.Duration {
	text := strings.TrimSpace(h.Get("Retry-After"))
	if n, err := strconv.ParseInt(text, 10, 64); err == nil {
		return time.Duration(min(max(n, 0), int64(longest/time.Second))) * time.Second
	}
	at, err := http.ParseTime(text)
	if err != nil {
		return 0
	}
	now, err := http.ParseTime(h.Get("Date"))
	if err != nil {
		return 0
	}
	return min(max(at.Sub(now), 0), longest)
}

// failed is a failure of the network, without the URL: a query of it may hold a
// key.
func failed(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return fmt.Errorf("%w: %w", ErrFailed, ctx.Err())
	}
	var timeout interface{ Timeout() bool }
	if errors.As(err, &timeout) && timeout.Timeout() {
		return fmt.Errorf("%w: no answer in time", ErrFailed)
	}
	for {
		inner := errors.Unwrap(err)
		if inner == nil {
			break
		}
		err = inner
	}
	return fmt.Errorf("%w: %s", ErrFailed, strings.ToValidUTF8(err.Error(), "?"))
}
