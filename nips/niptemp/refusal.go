package niptemp

import "fmt"

// Refusal is the reason not to take an event. Every error of this package is
// one.
type Refusal struct {
	// Prefix is "invalid" or "blocked" (NIP-01, "OK" messages).
	Prefix string
	// Reason is for a person.
	Reason string
}

// Error returns "prefix: reason", as an OK message has it.
func (r *Refusal) Error() string { return r.Prefix + ": " + r.Reason }

func invalid(format string, args ...any) error {
	return &Refusal{Prefix: "invalid", Reason: fmt.Sprintf(format, args...)}
}

func blocked(format string, args ...any) error {
	return &Refusal{Prefix: "blocked", Reason: fmt.Sprintf(format, args...)}
}
