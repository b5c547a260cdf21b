// Package pattern compiles regular expressions when they are first used: a program with
// many commands needs few of them, and starts for each prompt.
package pattern

import (
	"regexp"
	"sync"
)

// Later returns what compiles an expression once, at its first use. One that is none
// panics there.
func Later(expr string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(expr) })
}
