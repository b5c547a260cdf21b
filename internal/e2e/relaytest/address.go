package relaytest

import (
	"fmt"
	"os"
	"sync/atomic"
)

var addresses atomic.Uint32

// OwnAddress is a listen address with a port of the system's choice, on an address of
// this machine that nobody else uses: a relay that ends and is started again there
// finds its port free, which others may take meanwhile where all share 127.0.0.1.
// Loopback has all of 127.0.0.0/8.
func OwnAddress() string {
	pid := os.Getpid()
	return fmt.Sprintf("127.%d.%d.%d:0", 64+addresses.Add(1)%128, pid>>8&0xff, pid&0xff)
}
