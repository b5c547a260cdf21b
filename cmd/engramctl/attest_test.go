package main

import (
	"regexp"

	"github.com/nbd-wtf/go-nostr"
	"github.com/nbd-wtf/go-nostr/nip19"
	"github.com/rogpeppe/go-internal/testscript"

	"engramd/internal/protocol/wire"
)

// eventID sets VAR to the id of the event in the last output, VAR_NOTE to the same
// as note1…, and VAR_ADDR to its address as naddr1….
func eventID(ts *testscript.TestScript, _ bool, args []string) {
	ev := lastEvent(ts)
	note, err := nip19.EncodeNote(ev.ID)
	ts.Check(err)
	addr, err := nip19.EncodeEntity(ev.PubKey, ev.Kind, ev.Tags.GetD(), nil)
	ts.Check(err)
	ts.Setenv(args[0], ev.ID)
	ts.Setenv(args[0]+"_NOTE", note)
	ts.Setenv(args[0]+"_ADDR", addr)
}

// headsRoot sets VAR to the root over the heads in the last output's event.
func headsRoot(ts *testscript.TestScript, _ bool, args []string) {
	ts.Setenv(args[0], lastEvent(ts).Tags.Find("heads_root")[1])
}

func lastEvent(ts *testscript.TestScript) *nostr.Event {
	ev, err := wire.ParseEvent([]byte(regexp.MustCompile(`(?m)^{"id":.*}$`).FindString(ts.ReadFile("stdout"))))
	ts.Check(err)
	return ev
}
