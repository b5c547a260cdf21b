package main

import (
	"encoding/hex"
	"strconv"
	"strings"

	"github.com/nbd-wtf/go-nostr"
	"github.com/nbd-wtf/go-nostr/nip19"

	"engramd/internal/cli/cliutil"
	"engramd/internal/cli/exit"
	"engramd/internal/cli/settings"
)

// adminArg is one argument of a method: how it is called, and what it is as a
// parameter.
type adminArg struct {
	name string
	read func(env *cliutil.Env, name, text string) (any, error)
}

// member returns what an object calls it.
func (arg adminArg) member() string { return strings.ToLower(arg.name) }

var (
	pubkeyArg  = adminArg{"PUBKEY", readPubkey}
	agentArg   = adminArg{"AGENT", readPubkey}
	eventArg   = adminArg{"EVENT", readEvent}
	kindArg    = adminArg{"KIND", readKind}
	networkArg = adminArg{"ADDRESS", readText}
	idArg      = adminArg{"ID", readText}
	textArg    = adminArg{"TEXT", readText}
	reasonArg  = adminArg{"REASON", readText}
)

func readPubkey(_ *cliutil.Env, name, text string) (any, error) {
	key, err := settings.PublicKey(name, "the command line", text)
	if err == nil && key == "" {
		err = exit.Usagef("%s is empty", name)
	}
	return key, err
}

func readEvent(_ *cliutil.Env, name, text string) (any, error) {
	return readEventID(name, text)
}

// readEventID takes an event id as people have it: note, nevent or hex.
func readEventID(name, text string) (string, error) {
	lower := strings.TrimPrefix(strings.ToLower(strings.TrimSpace(text)), "nostr:")
	if raw, err := hex.DecodeString(lower); err == nil && len(raw) == 32 {
		return lower, nil
	}
	if strings.HasPrefix(lower, "note1") || strings.HasPrefix(lower, "nevent1") {
		_, value, err := nip19.Decode(lower)
		switch v := value.(type) {
		case string:
			if err == nil && nostr.IsValid32ByteHex(v) {
				return v, nil
			}
		case nostr.EventPointer:
			if err == nil && nostr.IsValid32ByteHex(v.ID) {
				return v.ID, nil
			}
		}
		return "", exit.Usagef("%s: this note or nevent is damaged: a character is missing or mistyped", name)
	}
	if err := guardManaged(text); err != nil {
		return "", err
	}
	return "", exit.Usagef("%s: want the id of an event, note1…, nevent1… or 64 hex digits", name)
}

func readKind(_ *cliutil.Env, name, text string) (any, error) {
	kind, err := strconv.ParseUint(text, 10, 16)
	if err != nil {
		return nil, exit.Usagef("%s: want a number from 0 to 65535", name)
	}
	return kind, nil
}

// readText takes a text as it is, or with "-" from stdin; the relay says what
// may be in it.
func readText(env *cliutil.Env, _, text string) (any, error) {
	if text == "-" {
		var err error
		if text, err = cliutil.Input(env); err != nil {
			return nil, err
		}
		text = strings.TrimSuffix(text, "\n")
	}
	return text, guardManaged(text)
}
