package main

import (
	"fmt"
	"io"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"engramd/internal/client"
	"engramd/internal/secrets"
	"engramd/nips/nipae"
)

func (a *app) memCommand() *cobra.Command {
	mem := pairFlags(a.Env, group(&cobra.Command{
		Use:   "mem",
		Short: "Read and write an agent's memory",
		Long: `Read and write an agent's memory.

With --owner the key is the agent's, which reads and writes. With --agent the key
is its owner's, which reads. SLUG is "core", "mem/…", or short "notes" for
"mem/notes".

All relays are asked at the same time and their answers united. What failed at
which relay is on stderr. An answer that not all relays gave in full is partial:
it is printed, stderr and JSON say so, and the exit code is 0 (4 with --strict).
"Not found" is said only if every relay says so.`,
		Example: `  engramctl mem ls
  engramctl mem get notes
  engramctl mem ls --agent npub1…   # as owner`,
	},
		a.memLsCommand(), a.memGetCommand(), a.memSetCommand(), a.memRmCommand(), a.memHashCommand(),
		a.memPatchCommand(), a.memEditCommand(), a.memMvCommand(), a.memLinkCommand(), a.memLogCommand(), a.memDiffCommand(), a.memRestoreCommand(), a.memGraphCommand(),
		a.memPinCommand(), a.memUnpinCommand(), a.memArchiveCommand(), a.memUnarchiveCommand(),
		a.memSearchCommand(), a.memStatsCommand(), a.memTimelineCommand(),
	))
	mem.PersistentFlags().BoolVar(&a.flags.strict, "strict", false, "a partial answer is a failure (exit code 4, nothing on stdout)")
	return mem
}

// slugArgument reads a slug from a command line.
func slugArgument(arg string) (nipae.Slug, error) {
	slug, err := nipae.NormalizeSlug(arg)
	if err != nil {
		return "", usagef("%q: %w", arg, err)
	}
	return slug, nil
}

// arguments wants exactly those that are named.
func arguments(names ...string) cobra.PositionalArgs {
	return func(_ *cobra.Command, args []string) error {
		switch {
		case len(args) < len(names):
			return fmt.Errorf("%s is missing", names[len(args)])
		case len(args) > len(names):
			return fmt.Errorf("unexpected argument %q", args[len(names)])
		}
		return nil
	}
}

// jsonFlag is --json.
func jsonFlag(c *cobra.Command, to *bool) {
	c.Flags().BoolVar(to, "json", false, "print JSON")
}

// secretFlag is --allow-secret.
func secretFlag(c *cobra.Command, to *bool) {
	c.Flags().BoolVar(to, "allow-secret", false, "write also what looks like a key or a token")
}

// guard refuses a text with a secret in it that is not there already, unless
// that is allowed.
func guard(allow bool) func(old, text string) error {
	return secrets.Guard(allow, func(err error) error {
		return usagef("%w: what is remembered is signed and cannot be redacted later; --allow-secret writes it all the same", err)
	})
}

// formatFlag is --format with its words, of which the first is the default.
func formatFlag(c *cobra.Command, to *string, words ...string) {
	usage := "one of `FORMAT`:"
	for _, w := range words {
		usage += " " + w
	}
	c.Flags().StringVar(to, "format", words[0], usage)
	_ = c.RegisterFlagCompletionFunc("format", cobra.FixedCompletions(words, cobra.ShellCompDirectiveNoFileComp)) // cannot fail: the flag exists
}

// input reads a text that is to be remembered from stdin.
func input(e *Env) (string, error) {
	if e.Terminal.Stdin {
		e.note("reading from the terminal; Ctrl-D ends")
	}
	text, err := readAtMost(e.Stdin, nipae.MaxBody)
	if err != nil {
		return "", usagef("stdin: %w", err)
	}
	return text, nil
}

// checkText refuses what cannot be in an engram.
func checkText(text string) error {
	if !utf8.ValidString(text) {
		return usagef("the text is not UTF-8, and memory is text")
	}
	return nil
}

// readAtMost reads all of r, and refuses more than so many bytes.
func readAtMost(r io.Reader, most int) (string, error) {
	text, err := io.ReadAll(io.LimitReader(r, int64(most)+1))
	if err != nil {
		return "", err
	}
	if len(text) > most {
		return "", fmt.Errorf("%w: more than %d bytes", client.ErrTooLarge, most)
	}
	return string(text), nil
}
