//go:build !linux

package clock

import (
	"crypto/rand"
	"time"
)

// process knows the time since it began.
type process struct {
	name  string
	began time.Time
}

// System is the machine that the process runs on, of which it knows little.
func System() Machine { return process{rand.Text(), time.Now()} }

func (p process) Boot() (string, time.Duration)        { return p.name, time.Since(p.began) }
func (process) Synchronised() (now time.Time, ok bool) { return time.Time{}, false }
