package nodes

import "context"

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
