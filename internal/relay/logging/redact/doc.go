// Package redact is what log lines about clients have in common: who is meant,
// without a key (Tags), a reason without what is somebody's own (Reason), and a
// bound on how much is written (Limit).
//
// It knows slog and text, and nothing of the relay.
package redact
