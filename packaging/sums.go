package main

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"maps"
	"slices"
)

const sumsFile = "SHA256SUMS"

// sums writes the file that sha256sum -c reads.
func (r *release) sums() {
	var out bytes.Buffer
	for _, name := range slices.Sorted(maps.Keys(r.files)) {
		fmt.Fprintf(&out, "%x  %s\n", sha256.Sum256(r.files[name]), name)
	}
	r.put(sumsFile, out.Bytes())
}
