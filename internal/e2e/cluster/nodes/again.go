package nodes

import (
	"context"
	"fmt"
	"os"
	"os/exec"

	"engramd/internal/e2e/relaytest"
)

// Members is how many members a node's database knows.
func (c *Cluster) Members(ctx context.Context, i int) (int, error) {
	v, err := look(ctx, c.nodes[i].Data)
	if err != nil {
		return 0, err
	}
	defer v.close()
	return len(v.place.Members), nil
}

// JoinAgain has a person do it, and starts the node.
func (n *Node) JoinAgain() error {
	n.command("rejoin")
	return n.Start()
}

// JoinCutShort throws away the folder of a node that does not run, and has it join with
// an empty one by a process that ends, by a signal, when a file of it gets too large.
func (n *Node) JoinCutShort() (err error) {
	bin, err := relaytest.Binary(n.build)
	if err != nil {
		return err
	}
	if err := os.RemoveAll(n.Data); err != nil {
		return err
	}
	cmd := exec.Command("sh", "-c", `ulimit -f 4096; exec "$0" "$@"`, bin, "cluster", "join", "--config", n.config, "--data", n.Data)
	cmd.Env = append(relaytest.CleanEnv(), n.env...)
	if out, err := cmd.CombinedOutput(); err == nil {
		return fmt.Errorf("it was not cut short: %s", out)
	}
	return nil
}

// CopyKeys is what the operator does for a node that joined.
func (n *Node) CopyKeys(from *Node) { n.copyKeys(from) }
