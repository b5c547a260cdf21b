package command

import (
	"os/exec"
	"regexp"

	"github.com/rogpeppe/go-internal/testscript"
)

func killDaemon(ts *testscript.TestScript, _ bool, args []string) {
	d := find(ts, args[0])
	ts.Check(d.cmd.Process.Kill())
	<-d.done
}

var lossRefused = regexp.MustCompile(`--accept-loss ([0-9a-f]{12})\)`)

func lossWord(ts *testscript.TestScript, _ bool, args []string) {
	path, err := exec.LookPath("engramd")
	ts.Check(err)
	cmd := exec.Command(path, "check", "--data", ts.MkAbs(args[0]))
	cmd.Env = []string{"PATH=" + ts.Getenv("PATH"), "GORACE=" + noSleepAtExit}
	out, err := cmd.CombinedOutput()
	word := lossRefused.FindSubmatch(out)
	if err == nil || word == nil {
		ts.Fatalf("check names no loss: %v\n%s", err, out)
	}
	ts.Setenv("WORD", string(word[1]))
}
