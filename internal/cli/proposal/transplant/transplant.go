// Package transplant has the commands that give memories to another agent, and take
// them: engramctl transplant.
package transplant

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"engramd/internal/cli/cliutil"
	"engramd/internal/cli/settings"
	"engramd/internal/client"
	"engramd/internal/memory/proposals"
	"engramd/internal/memory/transplant"
)

// New returns the command transplant.
func New(env *cliutil.Env) *cobra.Command {
	return cliutil.PairFlags(env, cliutil.Group(&cobra.Command{
		Use:   "transplant",
		Short: "Give memories to another agent, or take them",
		Long: `Give memories to another agent, or take them, with proof of where they are from: each is
the event that the giver's key signed, with what opens it and nothing else. Whoever
gets it can check that this text was signed by that agent, at that time, also when the
giver's relay is gone.

What is taken is external, lies below mem/from/ and the receiver's name for the giver,
and never takes the place of the receiver's own memories.`,
		Example: `  engramctl transplant give --to npub1… projects/atlas
  engramctl transplant take
  engramctl transplant forget npub1…`,
	}, newGive(env), newTake(env), newForget(env)))
}

// plantedOut is one memory that was taken, in JSON.
type plantedOut struct {
	From   string `json:"from"` // npub of who wrote it
	Was    string `json:"was"`  // its slug there
	Event  string `json:"event"`
	Time   string `json:"time"`
	Slug   string `json:"slug,omitempty"` // here
	Again  bool   `json:"again,omitempty"`
	Error  string `json:"error,omitempty"`
	ID     string `json:"id,omitempty"` // of the proposal
	Status string `json:"status"`       // "taken", "open" or "left"
	// Corrects says that what is there is an earlier version: it is replaced if this
	// one is named.
	Corrects bool `json:"corrects,omitempty"`
}

func plantedFor(u transplant.Unit) plantedOut {
	return plantedOut{From: settings.Npub(u.Author), Was: string(u.Slug), Event: u.ID, Time: cliutil.Stamp(u.CreatedAt)}
}

func (p plantedOut) line() string {
	from := p.Was + " of " + p.From
	switch {
	case p.Status == "left":
		return fmt.Sprintf("left  %s: %s", from, p.Error)
	case p.Again:
		return fmt.Sprintf("%s  there already, from %s", p.Slug, from)
	case p.Corrects:
		return fmt.Sprintf("%s  open: corrects what is there, from %s  id %s", p.Slug, from, p.ID[:cliutil.ShortID])
	case p.Status == "open":
		return fmt.Sprintf("%s  open, from %s  id %s", p.Slug, from, p.ID[:cliutil.ShortID])
	}
	return fmt.Sprintf("%s  taken, from %s", p.Slug, from)
}

// leftWhy is why one memory was not taken, for a person: one that cannot be is no
// reason to take no other.
func leftWhy(err error) string {
	switch {
	case errors.Is(err, client.ErrConflict):
		return "there is another memory at its place"
	case errors.Is(err, proposals.ErrRefused):
		return err.Error() + " (--allow-secret)"
	}
	return strings.ReplaceAll(err.Error(), "\n", " ")
}
