// Command natsd runs one NATS server from a configuration file, for tests that
// kill and stop it. When it is ready it prints the addresses that it has, as one
// line of JSON: the file asks for free ports.
package main

import (
	"encoding/json"
	"fmt"
	"os"
	"time"

	"github.com/nats-io/nats-server/v2/server"
)

// readyLimit is how long a server may take until it listens.
const readyLimit = 30 * time.Second

// addresses is what is printed; rig reads it.
type addresses struct {
	Client  string `json:"client"`
	Cluster string `json:"cluster"`
	Monitor string `json:"monitor"`
}

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "natsd:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	if len(args) != 1 {
		return fmt.Errorf("want the path of a configuration file")
	}
	options, err := server.ProcessConfigFile(args[0])
	if err != nil {
		return fmt.Errorf("configuration: %w", err)
	}
	s, err := server.NewServer(options)
	if err != nil {
		return fmt.Errorf("new server: %w", err)
	}
	s.ConfigureLogger()
	go s.Start()
	if !s.ReadyForConnections(readyLimit) {
		return fmt.Errorf("not ready after %v", readyLimit)
	}
	own := addresses{Client: s.Addr().String(), Monitor: s.MonitorAddr().String()}
	if cluster := s.ClusterAddr(); cluster != nil {
		own.Cluster = cluster.String()
	}
	if err := json.NewEncoder(os.Stdout).Encode(own); err != nil {
		return fmt.Errorf("print the addresses: %w", err)
	}
	s.WaitForShutdown()
	return nil
}
