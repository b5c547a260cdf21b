package daemon

import (
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"engramd/internal/relay/cluster"
	"engramd/internal/relay/keys/keyfile"
)

// clusterFile says in a data folder which node of which cluster it is. It is no
// part of the database, so that nobody becomes a second one of the same node by
// a backup.
const clusterFile = "cluster.json"

// nodeIdentity is what stands there. Boot counts the starts. Fresh is a first node
// of which no database has executed anything yet: any other one without a place
// in the log has lost what the log goes on from.
type nodeIdentity struct {
	Cluster cluster.ClusterID
	Node    cluster.NodeID
	Boot    uint64
	Fresh   bool
}

type nodeText struct {
	Cluster string `json:"cluster"`
	Node    string `json:"node"`
	Boot    uint64 `json:"boot"`
	Fresh   bool   `json:"fresh,omitempty"`
}

// errNoNode means that a data folder is no node's.
var errNoNode = errors.New("this data folder belongs to no cluster: engramd cluster init makes it the first node of one, engramd cluster join a further node (docs/cluster.md)")

// readIdentity reads the file. The error is errNoNode if there is none.
func readIdentity(dir string) (id nodeIdentity, err error) {
	path := filepath.Join(dir, clusterFile)
	text, err := keyfile.Read(path)
	if errors.Is(err, fs.ErrNotExist) {
		return id, errNoNode
	}
	if err != nil {
		return id, fmt.Errorf("%s: %w", path, err)
	}
	var t nodeText
	if err := json.Unmarshal(text, &t); err != nil {
		return id, fmt.Errorf("%s is not as it was written: %w", path, err)
	}
	a, err1 := hex.DecodeString(t.Cluster)
	b, err2 := hex.DecodeString(t.Node)
	if err1 != nil || err2 != nil || len(a) != len(id.Cluster) || len(b) != len(id.Node) {
		return id, fmt.Errorf("%s names no cluster and node", path)
	}
	return nodeIdentity{cluster.ClusterID(a), cluster.NodeID(b), t.Boot, t.Fresh}, nil
}

// write makes the file, or puts another in its place, durably.
func (id nodeIdentity) write(dir string) error {
	text, err := json.Marshal(nodeText{id.Cluster.String(), id.Node.String(), id.Boot, id.Fresh})
	if err != nil {
		return err
	}
	path := filepath.Join(dir, clusterFile)
	if err = keyfile.Create(path, append(text, '\n')); errors.Is(err, fs.ErrExist) {
		if err = keyfile.Stage(path, append(text, '\n')); err == nil {
			err = keyfile.Switch(path)
		}
	}
	return err
}

// nextBoot counts a start, before it is used: no two of a node have one number.
func nextBoot(dir string) (nodeIdentity, error) {
	id, err := readIdentity(dir)
	if err != nil {
		return id, err
	}
	id.Boot++
	return id, id.write(dir)
}
