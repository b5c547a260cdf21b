//go:build deps

// Package engramd pins modules until their first importer lands.
package engramd

import (
	_ "github.com/bluekeyes/go-gitdiff/gitdiff"
	_ "github.com/modelcontextprotocol/go-sdk/mcp"
	_ "github.com/nbd-wtf/go-nostr/nip19"
	_ "github.com/nbd-wtf/go-nostr/nip49"
	_ "github.com/rogpeppe/go-internal/testscript"
	_ "github.com/spf13/cobra"
	_ "golang.org/x/term"
)
