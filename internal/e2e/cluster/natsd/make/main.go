// Command make builds natsd at a path.
package main

import (
	"fmt"
	"os"

	"engramd/internal/e2e/cluster/natsd/build"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "natsd/make: want a path")
		os.Exit(2)
	}
	if err := build.Natsd(os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, "natsd/make:", err)
		os.Exit(1)
	}
}
