// Package ask asks a person at the terminal.
package ask

import (
	"context"
	"errors"
	"strings"

	"engramd/internal/cli/cliutil"
	"engramd/internal/cli/exit"
	"engramd/internal/cli/terminal"
)

// Person is who answers, if there is one.
type Person struct {
	Env   *cliutil.Env
	Quiet bool // is not to be asked
}

// Answers reports whether somebody is there to ask.
func (p Person) Answers() bool {
	return !p.Quiet && p.Env.Terminal.Line != nil && p.Env.Terminal.Stdin
}

// Missing is the error of an answer that nobody gives; flags are what answers without one.
func (p Person) Missing(flags string) error {
	return exit.Usagef("an answer is missing, and there is nobody to ask: give %s", flags)
}

// Until asks for a line until one is taken, and says what is wrong with one that is not.
func (p Person) Until(ctx context.Context, prompt, flags string, take func(text string) error) error {
	if !p.Answers() {
		return p.Missing(flags)
	}
	for {
		text, err := p.Env.Terminal.Line(ctx, prompt)
		if errors.Is(err, terminal.ErrNoTerminal) {
			return p.Missing(flags)
		}
		if err != nil {
			return err
		}
		if err = take(strings.TrimSpace(text)); err == nil {
			return nil
		}
		p.Env.Note("%v", err)
	}
}

// Agrees asks a question of yes or no, until it is answered; enter is what Enter means,
// and no is the answer of nobody.
func (p Person) Agrees(ctx context.Context, prompt string, enter bool) (yes bool, err error) {
	if !p.Answers() {
		return false, nil
	}
	prompt += map[bool]string{true: " [Y/n] ", false: " [y/N] "}[enter]
	err = p.Until(ctx, prompt, "--yes", func(text string) error {
		switch strings.ToLower(text) {
		case "":
			yes = enter
		case "y", "yes":
			yes = true
		case "n", "no":
			yes = false
		default:
			return exit.Usagef("%q is neither yes nor no", text)
		}
		return nil
	})
	return yes, err
}
