package management

import (
	"context"

	"engramd/internal/relay/store"
)

// method is one method of the API: exactly one of change, list and snapshot is
// set.
type method struct {
	name     string
	need     int     // parameters that must be there
	params   []param // that may be
	change   func(s *Service, c *Call, a *args) (*store.AdminEntry, error)
	list     func(s *Service) any
	snapshot func(Snapshots, context.Context, SnapshotParams) (any, error)
}

// methods returns the methods of NIP-86 that mean something here. There are
// none for roles and for the rights of single keys: the managers of the relay
// are in its configuration, and a call cannot make its caller more powerful.
// And there are none for moderation: no event waits for a decision, each is
// stored or refused when it comes.
func methods() []method {
	pubkey, event := []param{hexParam("a pubkey"), reasonParam}, []param{hexParam("an event id"), reasonParam}
	network := []param{networkParam, reasonParam}
	return []method{
		{name: "supportedmethods", list: (*Service).supported},

		{name: "banpubkey", need: 1, params: pubkey, change: set(store.AdminPubkeys, store.AdminBanned)},
		{name: "unbanpubkey", need: 1, params: pubkey, change: unless((*Service).configBansKey, lift(store.AdminPubkeys, store.AdminBanned))},
		{name: "listbannedpubkeys", list: pubkeys(store.AdminBanned)},
		{name: "allowpubkey", need: 1, params: pubkey, change: unless((*Service).configBansKey, set(store.AdminPubkeys, store.AdminAllowed))},
		{name: "unallowpubkey", need: 1, params: pubkey, change: unless((*Service).configAllowsKey, lift(store.AdminPubkeys, store.AdminAllowed))},
		{name: "listallowedpubkeys", list: pubkeys(store.AdminAllowed)},

		{name: "banevent", need: 1, params: event, change: set(store.AdminEvents, store.AdminBanned)},
		{name: "unbanevent", need: 1, params: event, change: lift(store.AdminEvents, store.AdminBanned)},
		{name: "listbannedevents", list: events(store.AdminBanned)},
		{name: "allowevent", need: 1, params: event, change: set(store.AdminEvents, store.AdminAllowed)},
		{name: "unallowevent", need: 1, params: event, change: lift(store.AdminEvents, store.AdminAllowed)},
		{name: "listallowedevents", list: events(store.AdminAllowed)},

		{name: "allowkind", need: 1, params: []param{kindParam}, change: unless((*Service).configBansKind, set(store.AdminKinds, store.AdminAllowed))},
		{name: "disallowkind", need: 1, params: []param{kindParam}, change: set(store.AdminKinds, store.AdminBanned)},
		{name: "listallowedkinds", list: (*Service).allowedKinds},
		{name: "listdisallowedkinds", list: (*Service).bannedKinds},

		{name: "blockip", need: 1, params: network, change: unless((*Service).ownAddress, set(store.AdminNetworks, store.AdminBanned))},
		{name: "unblockip", need: 1, params: network, change: unless((*Service).widerBlock, lift(store.AdminNetworks, store.AdminBanned))},
		{name: "listblockedips", list: (*Service).blockedNetworks},

		{name: "changerelayname", need: 1, params: []param{textParam(maxName, false)}, change: describe("name")},
		{name: "changerelaydescription", need: 1, params: []param{textParam(maxDescription, true)}, change: describe("description")},
		{name: "changerelayicon", need: 1, params: []param{iconParam}, change: describe("icon")},

		{name: "listsnapshots", params: []param{snapshotParam(false)}, snapshot: Snapshots.List},
		{name: "createsnapshot", need: 1, params: []param{snapshotParam(true, "label", "encrypt", "pin")}, snapshot: Snapshots.Create},
		{name: "verifysnapshot", need: 1, params: []param{snapshotParam(true, "id")}, snapshot: Snapshots.Verify},
		{name: "restoresnapshot", need: 1, params: []param{snapshotParam(true, "id", "dry_run", "mode")}, snapshot: Snapshots.Restore},
		{name: "pinsnapshot", need: 1, params: []param{snapshotParam(true, "id")}, snapshot: Snapshots.Pin},
		{name: "unpinsnapshot", need: 1, params: []param{snapshotParam(true, "id")}, snapshot: Snapshots.Unpin},
		{name: "deletesnapshot", need: 1, params: []param{snapshotParam(true, "id", "force")}, snapshot: Snapshots.Delete},
	}
}

// Methods returns the names of all methods, including those of snapshots.
func Methods() (names []string) {
	for _, m := range methods() {
		names = append(names, m.name)
	}
	return names
}

type change = func(*Service, *Call, *args) (*store.AdminEntry, error)

// set gives a key this verdict in place of any other.
func set(list store.AdminList, verdict store.AdminVerdict) change {
	return func(_ *Service, _ *Call, a *args) (*store.AdminEntry, error) {
		return &store.AdminEntry{List: list, Key: a.key, Verdict: verdict, Text: a.text}, nil
	}
}

// lift removes this verdict from a key, but no other one.
func lift(list store.AdminList, verdict store.AdminVerdict) change {
	return func(s *Service, _ *Call, a *args) (*store.AdminEntry, error) {
		if s.lists.verdict(list, a.key) != verdict {
			return nil, nil
		}
		return &store.AdminEntry{List: list, Key: a.key}, nil
	}
}

// describe changes a text of NIP-11; the empty one brings back the
// configuration's.
func describe(field string) change {
	return func(_ *Service, _ *Call, a *args) (*store.AdminEntry, error) {
		e := &store.AdminEntry{List: store.AdminInfo, Key: field, Text: a.text}
		if a.text != "" {
			e.Verdict = store.AdminSet
		}
		return e, nil
	}
}

// unless makes a change if there is no objection.
func unless(objection func(*Service, *Call, *args) error, then change) change {
	return func(s *Service, c *Call, a *args) (*store.AdminEntry, error) {
		if err := objection(s, c, a); err != nil {
			return nil, err
		}
		return then(s, c, a)
	}
}
