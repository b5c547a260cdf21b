// Package mem reads the memories of a pair: engramctl mem.
package mem

import (
	"github.com/spf13/cobra"

	"engramd/internal/cli/cliutil"
	"engramd/internal/cli/mem/edit"
)

// New returns engramctl mem.
func New(env *cliutil.Env) *cobra.Command {
	mem := cliutil.PairFlags(env, cliutil.Group(&cobra.Command{
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
	}, append(edit.Commands(env),
		lsCommand(env), getCommand(env), rmCommand(env), hashCommand(env), logCommand(env), diffCommand(env), graphCommand(env),
		searchCommand(env), statsCommand(env), timelineCommand(env))...))
	mem.PersistentFlags().BoolVar(&env.Flags.Strict, "strict", false, "a partial answer is a failure (exit code 4, nothing on stdout)")
	return mem
}
