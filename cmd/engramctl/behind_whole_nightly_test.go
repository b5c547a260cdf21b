//go:build nightly

package main

func init() { wholeTable = true }
