package command

import (
	"context"
	"errors"
	"fmt"
	"time"

	"engramd/internal/relay/clock"
	"engramd/internal/relay/daemon/orders"
)

// clockCommand is `engramd clock accept`.
type clockCommand struct{ base }

const clockUsage = `
While the relay's clock is not confirmed, nothing is removed by age and no deadline of a contract is decided. accept says that the
clock is right as it is, also where it is behind what has arrived; look at it first (date -u).
`

func (c *clockCommand) pick(args []string) ([]string, error) { return c.oneOf(args, "", "accept") }

func (c *clockCommand) check() error {
	if c.verb == "" {
		return errors.New("engramd clock has one command: accept")
	}
	return nil
}

// Run has the running relay believe its clock.
func (c *clockCommand) Run(ctx context.Context) error {
	var now clock.Status
	if err := c.ask(ctx, orders.ClockAccept, struct{}{}, &now); err != nil {
		return err
	}
	_, err := fmt.Fprintf(c.Stdout, "the clock is accepted: %s\n", now.Now.Format(time.RFC3339))
	return err
}
