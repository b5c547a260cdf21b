// Package sessions lives through an agent's sessions with the built programs
// (make nightly).
package sessions
