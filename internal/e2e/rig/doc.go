// Package rig is what the folders of internal/e2e share: relays of a test, its
// clients, whose failures end it, and what it wants of their answers.
package rig
