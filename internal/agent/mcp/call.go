package mcp

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"reflect"
	"runtime/debug"
	"slices"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"engramd/nips/nipae"
)

// calls runs the calls of a server: bounded in number and in time, and the writes to
// one slug one after the other.
type calls struct {
	diagnosis
	timeout   time.Duration
	log       *slog.Logger
	memory    *limiter
	contracts *limiter // their relays are not discovered
	slugs     *locks
	wrote     func(ctx context.Context, slugs []string)
	life      context.Context // ends the calls that are under way
	end       context.CancelFunc
}

// handler returns a tool's function in the form that the SDK calls: with other
// names for its arguments, bounded, logged, and with the result as JSON in the text as well, for clients that do
// not know structured content.
func handler[In, Out any](s *Server, name string, do func(context.Context, In) (Out, error)) sdk.ToolHandlerFor[In, Out] {
	s.inputs[name] = reflect.TypeFor[In]()
	return func(ctx context.Context, req *sdk.CallToolRequest, in In) (*sdk.CallToolResult, Out, error) {
		ctx = withArrival(withCaller(ctx, req.ClientInfo()), req.Extra)
		out, err := called(ctx, s.calls, name, func(ctx context.Context) (Out, error) { return do(ctx, in) })
		if err != nil {
			return nil, out, err
		}
		text, err := plainJSON(out)
		if err != nil {
			return nil, out, err
		}
		return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: text}}}, out, nil
	}
}

// called runs one call of a tool, a resource or a prompt. Its error is a
// *Failure.
func called[Out any](ctx context.Context, c *calls, name string, do func(context.Context) (Out, error)) (Out, error) {
	start := time.Now()
	out, err := bounded(ctx, c, do)
	outcome := "ok"
	if err != nil {
		f := c.failure(err)
		outcome, err = f.Code, f
	}
	c.log.Info("call", "name", name, "outcome", outcome, "took", time.Since(start).Round(time.Millisecond))
	return out, err
}

func bounded[Out any](ctx context.Context, c *calls, do func(context.Context) (Out, error)) (out Out, err error) {
	if err := c.memory.arrive(); err != nil {
		return out, err
	}
	defer c.memory.leave()
	ctx, cancel := context.WithTimeout(ctx, c.timeout)
	defer cancel()
	stop := context.AfterFunc(c.life, cancel)
	defer stop()
	defer func() { // what a panic says may be a memory's
		if r := recover(); r != nil {
			c.log.Error("a call broke", "type", fmt.Sprintf("%T", r), "stack", string(debug.Stack()))
			err = errBroke
		}
	}()
	return do(ctx)
}

// errBroke is what a call answers that panicked: the server serves on.
var errBroke = errors.New("a fault of the program")

// reading runs a call that asks the relays.
func reading[Out any](ctx context.Context, c *calls, do func(context.Context) (Out, error)) (out Out, err error) {
	exit, err := c.memory.enter(ctx)
	if err != nil {
		return out, err
	}
	defer exit()
	return do(ctx)
}

// writing runs a call that writes, while no other call of this server writes at
// one of the slugs. A call that has begun is finished within its time, even if
// the caller does not wait for it.
func writing[Out any](ctx context.Context, c *calls, at []nipae.Slug, do func(context.Context) (Out, error)) (out Out, err error) {
	at = slices.Compact(slices.Sorted(slices.Values(at))) // in order: no two calls wait for each other
	for _, slug := range slices.Backward(at[1:]) {
		unlock, err := c.slugs.lock(ctx, slug)
		if err != nil {
			return out, err
		}
		defer unlock()
	}
	out, err = unbroken(ctx, c, c.memory, at[0], do)
	if err == nil {
		c.changed(ctx, at...)
	}
	return out, err
}

// changed tells the session which slugs were written.
func (c *calls) changed(ctx context.Context, at ...nipae.Slug) {
	var slugs []string
	for _, slug := range at {
		slugs = append(slugs, string(slug))
	}
	c.wrote(context.WithoutCancel(ctx), slugs)
}

// unbroken runs a call that holds the slug and a place, and finishes it once it
// has begun.
func unbroken[Out any](ctx context.Context, c *calls, through *limiter, slug nipae.Slug, do func(context.Context) (Out, error)) (out Out, err error) {
	unlock, err := c.slugs.lock(ctx, slug)
	if err != nil {
		return out, err
	}
	defer unlock()
	exit, err := through.enter(ctx)
	if err != nil {
		return out, err
	}
	defer exit()
	left := c.timeout
	if deadline, ok := ctx.Deadline(); ok {
		left = time.Until(deadline)
	}
	whole, cancel := context.WithTimeout(context.WithoutCancel(ctx), left)
	defer cancel()
	stop := context.AfterFunc(c.life, cancel)
	defer stop()
	return do(whole)
}

// plainJSON returns JSON as a model reads it best: without escapes for HTML.
func plainJSON(v any) (string, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return "", err
	}
	return string(bytes.TrimSpace(b.Bytes())), nil
}

// explained adds to failed calls their Failure as data, for programs. Arguments
// that the SDK itself refuses become a Failure too.
func explained(next sdk.MethodHandler) sdk.MethodHandler {
	return func(ctx context.Context, method string, req sdk.Request) (sdk.Result, error) {
		res, err := next(ctx, method, req)
		result, ok := res.(*sdk.CallToolResult)
		if err != nil || !ok || result == nil || !result.IsError {
			return res, err
		}
		var f *Failure
		if !errors.As(result.GetError(), &f) {
			f = invalidf("the arguments do not fit the tool's input schema: %s", quoted(errorText(result.GetError())))
			result.Content = []sdk.Content{&sdk.TextContent{Text: f.Error()}}
		}
		result.Meta = sdk.Meta{failureKey: f}
		return result, nil
	}
}

func errorText(err error) string {
	if err == nil {
		return "no reason is known"
	}
	return err.Error()
}
