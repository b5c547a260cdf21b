package mcp

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"runtime/debug"
	"slices"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"engramd/nips/nipae"
)

// handler returns a tool's function in the form that the SDK calls: with other
// names for its arguments, bounded, logged, and with the result as JSON in the text as well, for clients that do
// not know structured content.
func handler[In, Out any](s *Server, name string, do func(context.Context, In) (Out, error)) sdk.ToolHandlerFor[In, Out] {
	s.arguments[name] = argumentNames(reflect.TypeFor[In]())
	return func(ctx context.Context, req *sdk.CallToolRequest, in In) (*sdk.CallToolResult, Out, error) {
		ctx = withArrival(withCaller(ctx, req.ClientInfo()), req.Extra)
		out, err := called(ctx, s, name, func(ctx context.Context) (Out, error) { return do(ctx, in) })
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
func called[Out any](ctx context.Context, s *Server, name string, do func(context.Context) (Out, error)) (Out, error) {
	start := time.Now()
	out, err := bounded(ctx, s, do)
	outcome := "ok"
	if err != nil {
		f := s.failure(err)
		outcome, err = f.Code, f
	}
	s.o.Log.Info("call", "name", name, "outcome", outcome, "took", time.Since(start).Round(time.Millisecond))
	return out, err
}

func bounded[Out any](ctx context.Context, s *Server, do func(context.Context) (Out, error)) (out Out, err error) {
	if err := s.memoryCalls.arrive(); err != nil {
		return out, err
	}
	defer s.memoryCalls.leave()
	ctx, cancel := context.WithTimeout(ctx, s.o.Timeout)
	defer cancel()
	stop := context.AfterFunc(s.life, cancel)
	defer stop()
	defer func() { // what a panic says may be a memory's
		if r := recover(); r != nil {
			s.o.Log.Error("a call broke", "type", fmt.Sprintf("%T", r), "stack", string(debug.Stack()))
			err = errBroke
		}
	}()
	return do(ctx)
}

// errBroke is what a call answers that panicked: the server serves on.
var errBroke = errors.New("a fault of the program")

// reading runs a call that asks the relays.
func reading[Out any](ctx context.Context, s *Server, do func(context.Context) (Out, error)) (out Out, err error) {
	exit, err := s.memoryCalls.enter(ctx)
	if err != nil {
		return out, err
	}
	defer exit()
	return do(ctx)
}

// writing runs a call that writes, while no other call of this server writes at
// one of the slugs. A call that has begun is finished within its time, even if
// the caller does not wait for it.
func writing[Out any](ctx context.Context, s *Server, at []nipae.Slug, do func(context.Context) (Out, error)) (out Out, err error) {
	at = slices.Compact(slices.Sorted(slices.Values(at))) // in order: no two calls wait for each other
	for _, slug := range slices.Backward(at[1:]) {
		unlock, err := s.slugs.lock(ctx, slug)
		if err != nil {
			return out, err
		}
		defer unlock()
	}
	out, err = unbroken(ctx, s, s.memoryCalls, at[0], do)
	if err == nil {
		s.changed(ctx, at...)
	}
	return out, err
}

// changed tells who counts what is written.
func (s *Server) changed(ctx context.Context, at ...nipae.Slug) {
	var slugs []string
	for _, slug := range at {
		slugs = append(slugs, string(slug))
	}
	s.o.Session.Wrote(context.WithoutCancel(ctx), slugs)
}

// unbroken runs a call that holds the slug and a place, and finishes it once it
// has begun.
func unbroken[Out any](ctx context.Context, s *Server, through *limiter, slug nipae.Slug, do func(context.Context) (Out, error)) (out Out, err error) {
	unlock, err := s.slugs.lock(ctx, slug)
	if err != nil {
		return out, err
	}
	defer unlock()
	exit, err := through.enter(ctx)
	if err != nil {
		return out, err
	}
	defer exit()
	left := s.o.Timeout
	if deadline, ok := ctx.Deadline(); ok {
		left = time.Until(deadline)
	}
	whole, cancel := context.WithTimeout(context.WithoutCancel(ctx), left)
	defer cancel()
	stop := context.AfterFunc(s.life, cancel)
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
