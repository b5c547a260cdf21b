package relay

import (
	"net/http"
	"slices"

	"github.com/nbd-wtf/go-nostr/nip11"
)

// Info is what the operator says of the relay in its NIP-11 document.
type Info struct {
	Document nip11.RelayInformationDocument // without what the relay knows itself
	Further  []int                          // NIPs that options decide about
	// HistoryVersions and HistoryDays are how many superseded versions are kept for
	// each address, and for how long; see Keeps.
	HistoryVersions, HistoryDays int
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
func supportedNIPs(further []int, search bool) (all []any) {
	nips := append([]int{1, 4, 9, 11, 40, 42, 45, 59, 62, 67, 70, 98}, further...)
	if search {
		nips = append(nips, 50)
	}
	slices.Sort(nips)
	for _, n := range nips {
		all = append(all, n)
	}
	return all
}

// Info returns the NIP-11 document. khatru's OverwriteRelayInformation hooks
// have the last word.
func (r *Relay) Info(req *http.Request) nip11.RelayInformationDocument {
	info, limits := r.info.Load(), r.limits.Load()
	doc, limitation := info.Document, nip11.RelayLimitationDocument{}
	if doc.Limitation != nil {
		limitation = *doc.Limitation
	}
	limitation.MaxLimit, limitation.DefaultLimit = limits.MaxLimit, limits.DefaultLimit
	limitation.AuthRequired = r.table.Load().AuthRequired()
	doc.Software, doc.Limitation = software, &limitation
	doc.SupportedNIPs = supportedNIPs(info.Further, r.store != nil && r.store.SearchEnabled())
	for _, overwrite := range r.Hooks.OverwriteRelayInformation {
		doc = overwrite(req.Context(), req, doc)
	}
	return doc
}
