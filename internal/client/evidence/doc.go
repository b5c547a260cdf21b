// Package evidence checks what somebody hands over as the memory of a contract:
// the folder that `engramctl contract export` writes, or its events alone. It
// needs no network and believes nobody: what a signature does not cover, and
// what the files do not hold, is reported as not checked.
package evidence
