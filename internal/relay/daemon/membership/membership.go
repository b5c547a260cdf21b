// Package membership says which node of which cluster a data folder is, and
// how its log is reached.
package membership

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"engramd/internal/platform/files"
	"engramd/internal/relay/clock"
	"engramd/internal/relay/cluster"
	"engramd/internal/relay/cluster/jetstream"
	"engramd/internal/relay/config"
	"engramd/internal/relay/daemon/wiring"
	"engramd/internal/relay/keys/keyfile"
)

// Version is up to which version of the cluster this program can go: what
// the log may say, and how it is executed. From 2 on messages say what their
// sender has read, and what its clock shows.
const Version = 2

// LogOptions say how the log is reached.
func LogOptions(cfg *config.Config) jetstream.Options {
	c := &cfg.Cluster
	return jetstream.Options{
		URLs: c.URLs, Credentials: c.Credentials, TLSCA: c.TLSCA, TLSCert: c.TLSCert, TLSKey: c.TLSKey,
		Stream: c.Stream, Replicas: c.Replicas, Monitor: c.Monitor, SystemCredentials: c.SystemCredentials, TrustSync: c.TrustSync,
	}
}

// File says in a data folder which node of which cluster it is. It is no
// part of the database, so that nobody becomes a second one of the same node by
// a backup.
const File = "cluster.json"

// Identity is what stands there. Boot counts the starts. Fresh is a first node
// of which no database has executed anything yet: any other one without a place
// in the log has lost what the log goes on from.
type Identity struct {
	Cluster cluster.ClusterID `json:"cluster"`
	Node    cluster.NodeID    `json:"node"`
	Boot    uint64            `json:"boot"`
	Fresh   bool              `json:"fresh,omitempty"`
	Again   int64             `json:"again,omitempty"` // when it joined again by itself, in Unix seconds
}

// ErrNone means that a data folder is no node's.
var ErrNone = errors.New("this data folder belongs to no cluster: engramd cluster init makes it the first node of one, engramd cluster join a further node (docs/cluster.md)")

// Read reads the file. The error is ErrNone if there is none.
func Read(dir string) (id Identity, err error) {
	path := filepath.Join(dir, File)
	text, err := keyfile.Read(path)
	if errors.Is(err, fs.ErrNotExist) {
		return id, ErrNone
	}
	if err != nil {
		return id, fmt.Errorf("%s: %w", path, err)
	}
	if err := json.Unmarshal(text, &id); err != nil || id.Cluster == (cluster.ClusterID{}) || id.Node == (cluster.NodeID{}) {
		return Identity{}, errors.Join(fmt.Errorf("%s is not as it was written", path), err)
	}
	return id, nil
}

func (id Identity) text() ([]byte, error) {
	text, err := json.Marshal(id)
	return append(text, '\n'), err
}

// Save makes the file, or puts another in its place, durably.
func (id Identity) Save(dir string) error {
	text, err := id.text()
	if err != nil {
		return err
	}
	return files.Replace(filepath.Join(dir, File), text)
}

// NextBoot counts a start, before it is used: no two of a node have one number.
func NextBoot(dir string) (Identity, error) {
	id, err := Read(dir)
	if err != nil {
		return id, err
	}
	id.Boot++
	return id, id.Save(dir)
}

// Prepare makes the log, or finds it, and returns the number of its last message.
func Prepare(ctx context.Context, conn *jetstream.Conn) (last uint64, err error) {
	if err := conn.Create(ctx); err != nil {
		return 0, err
	}
	if err := conn.Check(ctx); err != nil {
		return 0, err
	}
	_, last, err = conn.Bounds(ctx)
	return last, err
}

// Begin says as a first node what a cluster begins with. now is what the machine's clock
// shows: it is said if it agrees with what a relay has noted of time in the data folder.
func Begin(ctx context.Context, conn *jetstream.Conn, id Identity, cfg *config.Config, now time.Time) error {
	live, err := wiring.DaemonLive(cfg)
	if err != nil {
		return err
	}
	message, err := cluster.Beginning(id.Cluster, id.Node, id.Boot, trusted(cfg.Data, now, clock.System()), cluster.Join{Name: Name(cfg), Version: Version}, cluster.Configure{Text: config.SharedText(cfg), Live: live}, cluster.Raise{Version: Version})
	if err != nil {
		return err
	}
	return appended(ctx, conn, message)
}

// trusted is a clock's time, zero where it cannot be trusted.
func trusted(dir string, now time.Time, m clock.Machine) time.Time {
	if !clock.Confirms(filepath.Join(dir, clock.File), now, m) {
		return time.Time{}
	}
	return now
}

// Say appends commands for a node that takes no part otherwise.
func Say(ctx context.Context, conn *jetstream.Conn, id Identity, commands ...cluster.Command) error {
	message, err := cluster.Batch(id.Cluster, id.Node, id.Boot, commands...)
	if err != nil {
		return err
	}
	return appended(ctx, conn, message)
}

func appended(ctx context.Context, conn *jetstream.Conn, message []byte) error {
	said := make(chan error, 1)
	conn.Append(message, func(_ uint64, err error) { said <- err })
	select {
	case err := <-said:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// New is the identity of a first node.
func New() (id Identity) {
	_, _ = rand.Read(id.Cluster[:]) // which never fails
	_, _ = rand.Read(id.Node[:])
	id.Boot, id.Fresh = 1, true
	return id
}

// Name is how people know a node.
func Name(cfg *config.Config) string {
	name := cfg.Cluster.Name
	if name == "" {
		name, _ = os.Hostname()
	}
	return strings.ToValidUTF8(name[:min(len(name), 64)], "")
}
