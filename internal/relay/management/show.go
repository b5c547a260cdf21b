package management

import (
	"net/netip"
	"slices"

	"engramd/internal/relay/store"
)

// fromConfig is the reason of an entry from the configuration.
const fromConfig = "configuration"

// The forms of NIP-86.
type pubkeyReason struct {
	Pubkey string `json:"pubkey"`
	Reason string `json:"reason,omitempty"`
}

type eventReason struct {
	ID     string `json:"id"`
	Reason string `json:"reason,omitempty"`
}

type networkReason struct {
	IP     string `json:"ip"` // an address, or a range in CIDR notation
	Reason string `json:"reason,omitempty"`
}

// supported returns the names of all other methods.
func (s *Service) supported() any {
	names := []string{}
	for _, m := range s.methods {
		if m.name != "supportedmethods" && (m.snapshot == nil || s.snapshots != nil) {
			names = append(names, m.name)
		}
	}
	return names
}

// pubkeys lists the keys of the configuration and of the database. A listed
// key that a call has banned is not allowed.
func pubkeys(verdict store.AdminVerdict) func(*Service) any {
	return func(s *Service) any {
		configured := s.config.Authors
		if verdict == store.AdminBanned {
			configured = s.config.BanAuthors
		}
		out := []pubkeyReason{}
		for _, key := range configured {
			if verdict == store.AdminBanned || s.lists.verdict(store.AdminPubkeys, key) != store.AdminBanned {
				out = append(out, pubkeyReason{key, fromConfig})
			}
		}
		for _, e := range s.lists[store.AdminPubkeys] {
			if e.Verdict == verdict && !slices.Contains(configured, e.Key) {
				out = append(out, pubkeyReason{e.Key, e.Text})
			}
		}
		return out
	}
}

func events(verdict store.AdminVerdict) func(*Service) any {
	return func(s *Service) any {
		out := []eventReason{}
		for _, e := range s.lists[store.AdminEvents] {
			if e.Verdict == verdict {
				out = append(out, eventReason{e.Key, e.Text})
			}
		}
		return out
	}
}

// allowedKinds returns the kinds of the list without banned ones. On a relay
// that takes all kinds but disallowed ones the list has those that calls have
// allowed.
func (s *Service) allowedKinds() any {
	rules := s.lists.rules(s.config)
	kinds := union(s.config.Kinds, s.lists.kinds(store.AdminAllowed))
	slices.Sort(kinds)
	return slices.DeleteFunc(kinds, func(k int) bool { return slices.Contains(rules.BanKinds, k) })
}

func (s *Service) bannedKinds() any {
	kinds := s.lists.rules(s.config).BanKinds
	slices.Sort(kinds)
	return kinds
}

func (s *Service) blockedNetworks() any {
	out := []networkReason{}
	for _, e := range s.lists[store.AdminNetworks] {
		out = append(out, networkReason{plainAddress(e.Key), e.Text})
	}
	return out
}

// plainAddress returns a network of one address without its length.
func plainAddress(network string) string {
	if p, err := netip.ParsePrefix(network); err == nil && p.IsSingleIP() {
		return p.Addr().String()
	}
	return network
}
