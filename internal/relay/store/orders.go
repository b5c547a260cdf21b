package store

import (
	"context"
	"fmt"
)

// Orders has a command executed and waits until it is durable, or failed. It
// returns the command's answer, nil for one that has none.
type Orders func(ctx context.Context, c Command) (answer any, err error)

// Tell is for a command that has no answer.
func (o Orders) Tell(ctx context.Context, c Command) error {
	_, err := o(ctx, c)
	return err
}

// Answer is for a command that is answered with a T.
func Answer[T any](ctx context.Context, o Orders, c Command) (answer T, err error) {
	v, err := o(ctx, c)
	if err != nil {
		return answer, err
	}
	answer, ok := v.(T)
	if !ok {
		return answer, fmt.Errorf("%T was answered with %T", c, v)
	}
	return answer, nil
}
