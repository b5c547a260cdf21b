//go:build deps

// Package engramd pins modules until their first importer lands.
package engramd

import (
	_ "github.com/BurntSushi/toml"
	_ "github.com/fiatjaf/khatru"
	_ "github.com/go-json-experiment/json/jsontext"
	_ "github.com/gorilla/websocket"
	_ "github.com/mattn/go-sqlite3"
	_ "github.com/nbd-wtf/go-nostr"
	_ "github.com/nbd-wtf/go-nostr/nip44"
	_ "github.com/prometheus/client_golang/prometheus"
	_ "github.com/prometheus/client_golang/prometheus/collectors"
	_ "github.com/prometheus/client_golang/prometheus/promhttp"
	_ "github.com/prometheus/client_golang/prometheus/testutil"
	_ "github.com/rogpeppe/go-internal/testscript"
	_ "golang.org/x/sys/unix"
	_ "golang.org/x/time/rate"
)
