package proof

import (
	"encoding/hex"
	"encoding/json"
	"os"
	"path/filepath"

	"github.com/nats-io/nats.go/jetstream"

	"engramd/internal/relay/cluster"
)

// stream is the log's name, which is the default of cluster.stream.
const stream = "engramd"

func (x *trial) log() jetstream.Stream {
	x.t.Helper()
	js, err := jetstream.New(x.Connect())
	if err != nil {
		x.t.Fatal(err)
	}
	s, err := js.Stream(x.t.Context(), stream)
	if err != nil {
		x.t.Fatal(err)
	}
	return s
}

// last is the number of the last message.
func (x *trial) last() uint64 { return x.log().CachedInfo().State.LastSeq }

func (x *trial) message(n uint64) []byte {
	x.t.Helper()
	m, err := x.log().GetMsg(x.t.Context(), n)
	if err != nil {
		x.t.Fatal(err)
	}
	return m.Data
}

func (x *trial) append(message []byte) {
	x.t.Helper()
	js, err := jetstream.New(x.Connect())
	if err == nil {
		_, err = js.Publish(x.t.Context(), "engramd.log."+stream, message)
	}
	if err != nil {
		x.t.Fatal(err)
	}
}

func (x *trial) clusterID() (id cluster.ClusterID) {
	x.t.Helper()
	text, err := os.ReadFile(filepath.Join(x.Node(0).Data, "cluster.json"))
	if err != nil {
		x.t.Fatal(err)
	}
	var is struct {
		Cluster string `json:"cluster"`
	}
	if err := json.Unmarshal(text, &is); err != nil {
		x.t.Fatal(err)
	}
	if _, err := hex.Decode(id[:], []byte(is.Cluster)); err != nil {
		x.t.Fatal(err)
	}
	return id
}
