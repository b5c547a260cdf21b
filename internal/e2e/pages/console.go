package pages

import (
	"bytes"
	"context"
	"fmt"
	"os/exec"
	"strings"
	"time"
)

// Step is a command and what it prints: stdout and stderr as they come, without
// the last line end.
type Step struct {
	Command string // several lines are joined with line ends
	Output  string
	Block   int // which console block it is in, from 0
}

// Console reads the console blocks of a text: lines that begin with "$ " are
// commands, "> " continues one, all others are output.
func Console(text string) []Step {
	var steps []Step
	for n, block := range Blocks(text, "console") {
		first := len(steps)
		for line := range strings.SplitSeq(strings.TrimSuffix(block, "\n"), "\n") {
			command, isCommand := strings.CutPrefix(line, "$ ")
			more, isMore := strings.CutPrefix(line, "> ")
			switch last := len(steps) - 1; {
			case isCommand:
				steps = append(steps, Step{Command: command, Block: n})
			case last < first:
				continue // output of nothing
			case isMore && steps[last].Output == "":
				steps[last].Command += "\n" + more
			case steps[last].Output == "":
				steps[last].Output = line
			default:
				steps[last].Output += "\n" + line
			}
		}
	}
	return steps
}

// Show writes steps as the lines of a console block.
func Show(steps []Step) string {
	var b strings.Builder
	for _, s := range steps {
		fmt.Fprintf(&b, "$ %s\n", strings.ReplaceAll(s.Command, "\n", "\n> "))
		if s.Output != "" {
			b.WriteString(s.Output + "\n")
		}
	}
	return b.String()
}

// Fill returns the text with what the steps printed in its console blocks. A
// block of which there is no step stays.
func Fill(text string, steps []Step) string {
	of := map[int][]Step{}
	for _, s := range steps {
		of[s.Block] = append(of[s.Block], s)
	}
	for n, block := range Blocks(text, "console") {
		if len(of[n]) > 0 {
			text = strings.Replace(text, "```console\n"+block+"```", "```console\n"+Show(of[n])+"```", 1)
		}
	}
	return text
}

// mark ends the output of each command in what the shell prints.
const mark = "\x1d"

// shellLimit is how long all commands of a page may take together.
const shellLimit = 10 * time.Minute

// Run executes the commands one after the other in one sh, as somebody types
// them, and returns them with what they printed.
func Run(ctx context.Context, dir string, env []string, steps []Step) ([]Step, error) {
	var script strings.Builder
	script.WriteString("exec 2>&1\nstatus() { code=$?; printf '\\035'; return $code; }\n")
	for _, s := range steps {
		// The mark leaves $? as the command left it.
		fmt.Fprintf(&script, "%s\nstatus\n", s.Command)
	}
	ctx, cancel := context.WithTimeout(ctx, shellLimit)
	defer cancel()
	cmd := exec.CommandContext(ctx, "sh", "-c", script.String())
	var out bytes.Buffer
	cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = dir, env, &out, &out
	cmd.WaitDelay = 5 * time.Second
	_ = cmd.Run() // the status is the last command's, which may be meant to fail
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("run the commands: %w\n%s", err, &out)
	}
	parts := strings.Split(out.String(), mark)
	if len(parts) != len(steps)+1 {
		return nil, fmt.Errorf("%d of %d commands came to their end:\n%s", len(parts)-1, len(steps), &out)
	}
	done := make([]Step, len(steps))
	for i, s := range steps {
		done[i] = Step{s.Command, strings.TrimSuffix(parts[i], "\n"), s.Block}
	}
	return done, nil
}
