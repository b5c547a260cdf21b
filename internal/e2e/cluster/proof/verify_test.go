package proof

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"

	"engramd/internal/e2e/cluster/nodes"
	"engramd/internal/e2e/relaytest"
)

// verified runs engramd cluster verify against all nodes until its clients have written
// so many notes, and interrupts it: it is to judge up to there.
func verified(t *testing.T, c *nodes.Cluster, notes int64) (said string, code int) {
	t.Helper()
	bin, err := relaytest.Binary(relaytest.Build{})
	if err != nil {
		t.Fatal(err)
	}
	var urls []string
	for i := range c.Nodes() {
		urls = append(urls, c.URL(i))
	}
	cmd := exec.Command(bin, "cluster", "verify", "--urls", strings.Join(urls, ","), "--for", "1h")
	cmd.Env = relaytest.CleanEnv()
	var out strings.Builder
	cmd.Stdout, cmd.Stderr = &out, io.Writer(&out)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	at := c.Dial(0)
	c.Until("it works", wait, func() error {
		n, closed, err := at.Count(relaytest.Filter{"kinds": []int{relaytest.KindNote}})
		if err == nil && n < notes {
			err = fmt.Errorf("%d notes %s", n, closed)
		}
		return err
	})
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // the code says it
	t.Log(out.String())
	return out.String(), cmd.ProcessState.ExitCode()
}
