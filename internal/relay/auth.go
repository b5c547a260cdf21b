package relay

import (
	"time"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/protocol/wire"
	"engramd/nips/nip01"
)

// Authenticate checks a NIP-42 AUTH event against the connection's challenge
// and the relay's own names and returns the pubkey it proves. The error names
// the failed check; it is a *nip01.Refusal and holds nothing secret.
func (r *Relay) Authenticate(ev *nostr.Event, challenge string) (string, error) {
	if ev.Kind != nostr.KindClientAuthentication {
		return "", nip01.Refuse(nip01.PrefixInvalid, "auth event has kind %d, not %d", ev.Kind, nostr.KindClientAuthentication)
	}
	if err := wire.Verify(ev); err != nil {
		return "", nip01.Refuse(nip01.PrefixInvalid, "auth event: %v", err)
	}
	got, err := onlyTag(ev, "challenge")
	if err != nil {
		return "", err
	}
	if got != challenge {
		return "", nip01.Refuse(nip01.PrefixInvalid, "auth event answers another challenge")
	}
	name, err := onlyTag(ev, "relay")
	if err != nil {
		return "", err
	}
	if !r.cfg.Names.Has(name) {
		return "", nip01.Refuse(nip01.PrefixInvalid, "auth event is for another relay, not %s", r.cfg.Names[0])
	}
	off := r.cfg.Clock().Sub(ev.CreatedAt.Time())
	if off.Abs() > r.cfg.AuthWindow {
		return "", nip01.Refuse(nip01.PrefixInvalid, "auth event is %s off this relay's clock, at most %s is taken",
			off.Abs().Truncate(time.Second), r.cfg.AuthWindow)
	}
	return ev.PubKey, nil
}

// onlyTag returns the value of the one tag with this name. Two of them would
// let a signature for another relay count for ours as well.
func onlyTag(ev *nostr.Event, name string) (string, error) {
	value, count := "", 0
	for _, tag := range ev.Tags {
		if len(tag) > 0 && tag[0] == name {
			count++
			if len(tag) > 1 {
				value = tag[1]
			}
		}
	}
	if count != 1 || value == "" {
		return "", nip01.Refuse(nip01.PrefixInvalid, "auth event needs exactly one %s tag", name)
	}
	return value, nil
}
