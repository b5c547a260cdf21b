// Package repocheck holds the tests of the repository's own rules: imports go
// downwards only, as ARCHITECTURE.md draws it, and the lists in the Makefile and
// in docs name what exists.
package repocheck
