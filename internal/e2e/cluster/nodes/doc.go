// Package nodes runs several engramd processes over the three servers of a log
// (package rig), each with ways of its own to them, and breaks them.
package nodes
