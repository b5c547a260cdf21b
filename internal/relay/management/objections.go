package management

import (
	"net/netip"
	"slices"
	"strconv"

	"engramd/internal/relay/store"
)

// A call cannot undo the configuration. The answer says so, because true would
// be wrong.

func (s *Service) configBansKey(_ *Call, a *args) error {
	if slices.Contains(s.config.BanAuthors, a.key) {
		return Restricted("the configuration bans this key (write.ban_authors): the ban can be lifted there only")
	}
	return nil
}

func (s *Service) configAllowsKey(_ *Call, a *args) error {
	if slices.Contains(s.config.Authors, a.key) {
		return Restricted("the configuration lists this key (write.authors): take it out there, or ban it")
	}
	return nil
}

func (s *Service) configBansKind(_ *Call, a *args) error {
	if kind, err := strconv.Atoi(a.key); err == nil && slices.Contains(s.config.BanKinds, kind) {
		return Restricted("the configuration bans this kind (write.ban_kinds): the ban can be lifted there only")
	}
	return nil
}

// ownAddress keeps callers from locking themselves out.
func (s *Service) ownAddress(c *Call, a *args) error {
	if p, err := netip.ParsePrefix(a.key); err == nil && p.Contains(c.Addr.Unmap().WithZone("")) {
		return Restricted("this would block the address that you call from")
	}
	return nil
}

// widerBlock objects if an address stays blocked as part of a larger network.
func (s *Service) widerBlock(_ *Call, a *args) error {
	want, err := netip.ParsePrefix(a.key)
	if err != nil {
		return nil
	}
	for _, key := range s.lists.keys(store.AdminNetworks, store.AdminBanned) {
		if p, err := netip.ParsePrefix(key); err == nil && p.Bits() < want.Bits() && p.Contains(want.Addr()) {
			return Restricted("this is part of the blocked network " + key + ": unblock that")
		}
	}
	return nil
}
