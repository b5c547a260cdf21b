// Package search is the full-text index: what of an event stands in it, how it is
// built, and how a text leaves it.
package search
