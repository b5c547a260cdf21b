package relay

import (
	"net/http"

	"github.com/nbd-wtf/go-nostr/nip11"
)

// Info is what the operator says of the relay in its NIP-11 document.
type Info struct {
	Name, Description, PubKey, Contact, Icon string
	Version                                  string
	MessageBytes, Subscriptions, SubIDBytes  int
	EventTags                                int
	FutureSeconds                            int64
	RestrictedWrites                         bool // lists decide who may write
	EOSEHints                                bool // NIP-67
	Management                               bool // NIP-86: there are keys that may manage the relay
}

// software is where people find out what runs here.
const software = "engramd"

// SetInfo replaces what NIP-11 says.
func (r *Relay) SetInfo(info Info) { r.info.Store(&info) }

// SupportedNIPs lists what this relay does, and nothing else.
func (r *Relay) SupportedNIPs() []any {
	nips := []any{1, 9, 11, 40, 42, 45}
	if r.store != nil && r.store.SearchEnabled() {
		nips = append(nips, 50)
	}
	nips = append(nips, 62)
	if r.info.Load().EOSEHints {
		nips = append(nips, 67)
	}
	nips = append(nips, 70)
	if r.info.Load().Management {
		nips = append(nips, 86)
	}
	return append(nips, 98)
}

// Info is the NIP-11 document. khatru's OverwriteRelayInformation hooks have
// the last word.
func (r *Relay) Info(req *http.Request) nip11.RelayInformationDocument {
	info, limits := r.info.Load(), r.limits.Load()
	doc := nip11.RelayInformationDocument{
		Name:          info.Name,
		Description:   info.Description,
		PubKey:        info.PubKey,
		Contact:       info.Contact,
		Icon:          info.Icon,
		Software:      software,
		Version:       info.Version,
		SupportedNIPs: r.SupportedNIPs(),
		Limitation: &nip11.RelayLimitationDocument{
			MaxMessageLength:    info.MessageBytes,
			MaxSubscriptions:    info.Subscriptions,
			MaxLimit:            limits.MaxLimit,
			DefaultLimit:        limits.DefaultLimit,
			MaxSubidLength:      info.SubIDBytes,
			MaxEventTags:        info.EventTags,
			CreatedAtUpperLimit: info.FutureSeconds,
			RestrictedWrites:    info.RestrictedWrites,
		},
	}
	for _, overwrite := range r.Hooks.OverwriteRelayInformation {
		doc = overwrite(req.Context(), req, doc)
	}
	return doc
}
