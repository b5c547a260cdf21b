package command

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"slices"
	"time"

	"engramd/internal/relay/daemon/orders"
	"engramd/internal/relay/daemon/wiring"
	relaykeys "engramd/internal/relay/keys"
	"engramd/internal/relay/store/sqlite"
	"engramd/internal/relay/store/sqlite/engine"
)

// relayKeyCommand is `engramd relay-key VERB`.
type relayKeyCommand struct {
	base
	key                string
	json, revoke, lost bool
}

const relayKeyUsage = `
It has these commands:
  show [--json]
        the relay's key, the former ones, and what is wrong with the file; also without the word show
  rotate [--revoke]
        give the relay a new key, through the running relay if there is one; --revoke for one that others may know
  revoke KEY
        trust what a former key signed no more
  adopt [--lost] [--revoke]
        make what the file or the variable holds the relay's key, where the database knows another one; --lost when the
        secret of that one is gone. The relay must not run
`

func (c *relayKeyCommand) pick(args []string) ([]string, error) {
	return c.oneOf(args, "show", "show", "rotate", "revoke", "adopt")
}

func (c *relayKeyCommand) flags(fs *flag.FlagSet) (operands int) {
	switch c.verb {
	case "show":
		fs.BoolVar(&c.json, "json", false, "as JSON")
	case "revoke":
		return 1
	case "adopt":
		fs.BoolVar(&c.lost, "lost", false, "the secret of the present key is gone")
		fallthrough
	case "rotate":
		fs.BoolVar(&c.revoke, "revoke", false, "trust what the present key signed no more")
	}
	return 0
}

func (c *relayKeyCommand) check() (err error) {
	if c.verb == "revoke" {
		if len(c.operands) == 0 {
			return errors.New("which key? engramd relay-key show lists them")
		}
		c.key, err = publicKey("revoke", c.operands[0])
	}
	return err
}

func (c *relayKeyCommand) Run(ctx context.Context) error {
	wiring.Private()
	switch c.verb {
	case "rotate", "revoke":
		return c.change(ctx)
	case "adopt":
		return c.adopt(ctx)
	}
	return c.show(ctx)
}

// change rotates or revokes, by the running daemon or here.
func (c *relayKeyCommand) change(ctx context.Context) error {
	what, args := orders.Rotate, orders.KeyArgs{Revoke: c.revoke}
	if c.verb == "revoke" {
		what, args = orders.Revoke, orders.KeyArgs{Key: c.key}
	}
	var done relaykeys.Change
	err := order(ctx, c.cfg, what, args, &done, nil, func(s *sqlite.Store) error {
		keys, err := relaykeys.Open(ctx, wiring.RelayKeyOptions(c.cfg, c.Env), s)
		switch {
		case err != nil:
			return err
		case c.verb == "revoke":
			return keys.Revoke(ctx, c.key)
		}
		done, err = keys.Rotate(ctx, c.revoke)
		return err
	})
	if err != nil {
		return err
	}
	return c.tell(done)
}

// adopt makes what is in the file or the variable the relay's key.
func (c *relayKeyCommand) adopt(ctx context.Context) error {
	lock, err := engine.Lock(c.cfg.Data)
	if errors.Is(err, engine.ErrLocked) {
		return fmt.Errorf("%w: stop it first, or use engramd relay-key rotate", err)
	}
	if err != nil {
		return err
	}
	defer lock.Unlock() // the end of the process does it, too
	s, err := openAlone(ctx, c.cfg, "")
	if err != nil {
		return err
	}
	done, err := relaykeys.Adopt(ctx, wiring.RelayKeyOptions(c.cfg, c.Env), s, c.lost, c.revoke)
	if err = errors.Join(err, s.Close()); err != nil {
		return err
	}
	return c.tell(done)
}

// tell reports what a change did.
func (c *relayKeyCommand) tell(done relaykeys.Change) error {
	if c.verb == "revoke" {
		_, err := fmt.Fprintf(c.Stdout, "%s  revoked\n", c.key)
		return err
	}
	was := "former, and trusted"
	if c.revoke {
		was = "former, and revoked"
	}
	fmt.Fprintf(c.Stdout, "%s  the relay's key\n%s  %s\n", done.New, done.Old, was)
	if len(done.Kept) > 0 {
		fmt.Fprintf(c.Stdout, "contracts that have no end yet name former keys: the secrets of %d stay in the file\n", len(done.Kept))
	}
	_, err := fmt.Fprintln(c.Stdout, "keep a copy of the new file with the backups, and the old one as long as you keep backups made before")
	return err
}

// shownKey is a key as `show` prints it. Times are RFC 3339.
type shownKey struct {
	PubKey  string `json:"pubkey"`
	Since   string `json:"since"`
	Until   string `json:"until,omitempty"`
	Revoked string `json:"revoked,omitempty"`
	Secret  bool   `json:"secret"`    // its secret is in the file or the variable
	Named   int    `json:"contracts"` // that have no end yet and name it, up to 1,000
}

// show prints the keys, and returns an error if serve would not start with
// them.
func (c *relayKeyCommand) show(ctx context.Context) (err error) {
	s, err := openBeside(ctx, c.cfg)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	known, err := s.RelayKeys(ctx)
	if err != nil {
		return err
	}
	if len(known) == 0 {
		return errors.New("the database knows no relay key yet: the next start of engramd serve makes one, or takes the one that is there")
	}
	o := wiring.RelayKeyOptions(c.cfg, c.Env)
	held := relaykeys.Held(o)
	keys := make([]shownKey, len(known))
	for i, k := range known {
		keys[i] = shownKey{PubKey: k.PubKey, Since: shownTime(k.Since), Until: shownTime(k.Until), Revoked: shownTime(k.Revoked), Secret: slices.Contains(held, k.PubKey)}
		if keys[i].Named, err = s.ContractsNaming(ctx, k.PubKey); err != nil {
			return err
		}
	}
	if c.json {
		e := json.NewEncoder(c.Stdout)
		e.SetIndent("", "  ")
		err = e.Encode(struct {
			Place string     `json:"place"`
			Keys  []shownKey `json:"keys"`
		}{relaykeys.Source(o), keys})
	} else {
		err = printKeys(c.Stdout, relaykeys.Source(o), keys)
	}
	return errors.Join(err, relaykeys.Look(o, known[0].PubKey))
}

func shownTime(unix int64) string {
	if unix == 0 {
		return ""
	}
	return time.Unix(unix, 0).UTC().Format(time.RFC3339)
}

func printKeys(w io.Writer, place string, keys []shownKey) error {
	for _, k := range keys {
		text := "former, " + k.Since + " to " + k.Until
		switch {
		case k.Until == "":
			text = "the relay's key, since " + k.Since
		case k.Revoked != "":
			text += ", revoked " + k.Revoked
		}
		if k.Secret {
			text += ", secret in " + place
		}
		if k.Named > 0 {
			text += fmt.Sprintf(", named by %d contracts that have no end yet", k.Named)
		}
		if _, err := fmt.Fprintf(w, "%s  %s\n", k.PubKey, text); err != nil {
			return err
		}
	}
	return nil
}
