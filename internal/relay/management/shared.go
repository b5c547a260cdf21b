package management

import (
	"fmt"
	"net/netip"
	"slices"
	"strconv"

	"engramd/internal/relay/store"
)

// Applied puts a change into force that was executed here, whichever node's call
// it was; nil is a call that changed nothing. It is called on the goroutine of
// the store's writer, after the commit and before the next command, in the order
// of the commands, and reads nothing of the store. Before Configure only the
// lists take it in.
//
// After an error the lists and the rules of this node are not what they are on
// the others: it must execute nothing more.
func (s *Service) Applied(change *store.AdminEntry) error {
	if change == nil {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	next := s.lists.with(change)
	if s.prepare != nil {
		apply, err := s.prepare(next.rules(s.config))
		if err != nil {
			return fmt.Errorf("management: a change that other nodes have cannot be put into force here: %w", err)
		}
		apply()
	}
	s.lists = next
	return nil
}

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
