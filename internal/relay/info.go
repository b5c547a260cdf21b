package relay

import (
	"net/http"
	"time"

	"github.com/nbd-wtf/go-nostr/nip11"

	"engramd/internal/relay/retention"
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
	Sync                                     bool // NIP-77
	Retention                                []retention.Rule
	HistoryVersions, HistoryDays             int // superseded versions kept for each address, and for how long; see Keeps
}

// software says what runs here. NIP-11 wants a URL: this is a package URL
// (purl), since there is no page of the project's.
const software = "pkg:generic/engramd"

// Self returns the relay's own key, 64 hex digits, for the field "self" of
// NIP-11; "" for none.
func (r *Relay) Self() string { return r.cfg.Self() }

// Keeps returns how many superseded versions of memory are kept for each
// address, 0 for none, and for how many days, 0 for ever: the field "history" of
// the information document, by which engramctl verify tells what may be missing
// from what must not.
func (r *Relay) Keeps() (versions, days int) {
	info := r.info.Load()
	return info.HistoryVersions, info.HistoryDays
}

// SetInfo replaces what NIP-11 says.
func (r *Relay) SetInfo(info Info) { r.info.Store(&info) }

// supportedNIPs lists what this relay does, and nothing else. NIP-04 and NIP-59
// are listed for what they ask of relays: to show direct messages and gift
// wraps to their parties alone. NIPs whose events a relay only stores, like the
// lists of NIP-65, are not listed.
func supportedNIPs(info *Info, search bool) []any {
	nips := []any{1, 4, 9, 11, 40, 42, 45}
	if search {
		nips = append(nips, 50)
	}
	nips = append(nips, 59, 62)
	if info.EOSEHints {
		nips = append(nips, 67)
	}
	nips = append(nips, 70)
	if info.Sync {
		nips = append(nips, 77)
	}
	if info.Management {
		nips = append(nips, 86)
	}
	return append(nips, 98)
}

// Info returns the NIP-11 document. khatru's OverwriteRelayInformation hooks
// have the last word.
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
		SupportedNIPs: supportedNIPs(info, r.store != nil && r.store.SearchEnabled()),
		Limitation: &nip11.RelayLimitationDocument{
			MaxMessageLength:    info.MessageBytes,
			MaxSubscriptions:    info.Subscriptions,
			MaxLimit:            limits.MaxLimit,
			DefaultLimit:        limits.DefaultLimit,
			MaxSubidLength:      info.SubIDBytes,
			MaxEventTags:        info.EventTags,
			CreatedAtUpperLimit: info.FutureSeconds,
			RestrictedWrites:    info.RestrictedWrites,
			AuthRequired:        r.table.Load().AuthRequired(),
		},
	}
	for _, rule := range info.Retention {
		doc.Retention = append(doc.Retention, retentionDocument(rule))
	}
	for _, overwrite := range r.Hooks.OverwriteRelayInformation {
		doc = overwrite(req.Context(), req, doc)
	}
	return doc
}

// retentionDocument returns a rule as NIP-11 has it. Kinds are always named:
// what a rule does not touch is not in it.
func retentionDocument(rule retention.Rule) *nip11.RelayRetentionDocument {
	doc := &nip11.RelayRetentionDocument{Time: int64(rule.Age / time.Second), Count: int(rule.Count)}
	for _, kinds := range rule.Kinds {
		doc.Kinds = append(doc.Kinds, []int{kinds.From, kinds.To})
	}
	return doc
}
