// Command engramd is a Nostr relay for the memory of AI agents, and its
// operator's tools.
package main

import (
	"os"

	"engramd/internal/relay/daemon/command"
)

// version is set by the linker: -ldflags "-X main.version=v1.2.3".
var version = "dev"

func main() { os.Exit(command.Run(version)) }
