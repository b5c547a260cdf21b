package mcp

import (
	"context"
	"net/http"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"engramd/internal/memory/write"
)

// headerArrived has the moment at which a call was read. Calls are read one after the
// other and run side by side: this is how one knows its place. The header is of no
// request over HTTP, and what a client sends cannot set it.
const headerArrived = "Engramd-Arrived"

func arrived(now time.Time) *sdk.RequestExtra {
	return &sdk.RequestExtra{Header: http.Header{headerArrived: {write.Moment(now).Format(time.RFC3339Nano)}}}
}

type arrivalKey struct{}

// withArrival keeps when a call was read.
func withArrival(ctx context.Context, extra *sdk.RequestExtra) context.Context {
	if extra == nil {
		return ctx
	}
	at, err := time.Parse(time.RFC3339Nano, extra.Header.Get(headerArrived))
	if err != nil {
		return ctx
	}
	return context.WithValue(ctx, arrivalKey{}, at)
}

// arrival is when a call was read; zero if that is not known.
func arrival(ctx context.Context) time.Time {
	at, _ := ctx.Value(arrivalKey{}).(time.Time)
	return at
}
