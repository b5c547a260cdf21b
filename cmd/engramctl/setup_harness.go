package main

import "context"

func harnessNames() []string { return []string{"claude", "codex", "cursor", "opencode"} }

func knownHarnesses([]string) error { return nil }

func (s *setup) findHarnesses(context.Context) error    { return nil }
func (s *setup) installHarnesses(context.Context) error { return nil }
func (s *setup) removeHarnesses(context.Context) error  { return nil }
func (d *doctor) harnesses(context.Context)             {}
func (d *doctor) server(context.Context)                {}
