package admin

import (
	"strings"

	"github.com/spf13/pflag"

	"engramd/internal/cli/cliutil"
)

// adminMethod is one method of the management API as a command.
type adminMethod struct {
	name     string
	args     []adminArg
	optional int      // of args, how many may be left out at the end
	flags    []string // of adminFlags; a method with any, or of snapshots, has one object as its parameter
	object   bool
	short    string
	long     string
	example  string // behind "engramctl admin "
}

// use returns the usage line.
func (m adminMethod) use() string {
	line := m.name
	for i, arg := range m.args {
		if i >= len(m.args)-m.optional {
			line += " [" + arg.name + "]"
		} else {
			line += " " + arg.name
		}
	}
	for _, flag := range m.flags {
		line += " [--" + flag + adminFlags[flag].value + "]"
	}
	return line + " [--json]"
}

// adminMethods returns all that engramd's management API has. A test compares
// them.
func adminMethods() []adminMethod {
	pubkey, event := []adminArg{pubkeyArg, reasonArg}, []adminArg{eventArg, reasonArg}
	network, kind := []adminArg{networkArg, reasonArg}, []adminArg{kindArg}
	methods := []adminMethod{
		{name: "supportedmethods", short: "List the methods that the relay has", example: "supportedmethods"},

		{name: "banpubkey", args: pubkey, optional: 1, short: "Ban a key from writing", long: "Ban a key from writing. What it has written stays: ban events one by one, or remove them\nwith engramd delete.", example: `banpubkey npub1… "spam"`},
		{name: "unbanpubkey", args: pubkey, optional: 1, short: "Lift the ban of a key", example: "unbanpubkey npub1…"},
		{name: "listbannedpubkeys", short: "List the banned keys", example: "listbannedpubkeys"},
		{name: "allowpubkey", args: pubkey, optional: 1, short: "Let a key write where lists restrict that", example: `allowpubkey npub1… "new on the third floor"`},
		{name: "unallowpubkey", args: pubkey, optional: 1, short: "Take a key off the list of those that may write", example: "unallowpubkey npub1…"},
		{name: "listallowedpubkeys", short: "List the keys that may write", example: "listallowedpubkeys"},

		{name: "banevent", args: event, optional: 1, short: "Remove an event and keep it out", example: `banevent nevent1… "court order"`},
		{name: "unbanevent", args: event, optional: 1, short: "Lift the ban of an event", example: "unbanevent nevent1…"},
		{name: "listbannedevents", short: "List the banned events", example: "listbannedevents"},
		{name: "allowevent", args: event, optional: 1, short: "Let one event in whatever the lists say", example: "allowevent note1…"},
		{name: "unallowevent", args: event, optional: 1, short: "Take an event off the list of those let in", example: "unallowevent note1…"},
		{name: "listallowedevents", short: "List the events that are let in", example: "listallowedevents"},

		{name: "allowkind", args: kind, short: "Let a kind be written where lists restrict that", example: "allowkind 30023"},
		{name: "disallowkind", args: kind, short: "Ban a kind from being written", example: "disallowkind 7"},
		{name: "listallowedkinds", short: "List the kinds that may be written", example: "listallowedkinds"},
		{name: "listdisallowedkinds", short: "List the banned kinds", example: "listdisallowedkinds"},

		{name: "blockip", args: network, optional: 1, short: "Block an address, or a range in CIDR notation", example: `blockip 2001:db8::/64 "flood"`},
		{name: "unblockip", args: network, optional: 1, short: "Lift the block of an address or range", example: "unblockip 192.0.2.1"},
		{name: "listblockedips", short: "List the blocked addresses and ranges", example: "listblockedips"},

		{name: "changerelayname", args: []adminArg{textArg}, short: "Change the name in NIP-11", long: `Change the name in NIP-11; "" brings back the configuration's.`, example: `changerelayname "memory of the third floor"`},
		{name: "changerelaydescription", args: []adminArg{textArg}, short: "Change the description in NIP-11", long: `Change the description in NIP-11; "" brings back the configuration's.`, example: `changerelaydescription "For our agents."`},
		{name: "changerelayicon", args: []adminArg{{"URL", textArg.read}}, short: "Change the picture in NIP-11", long: `Change the picture in NIP-11; "" brings back the configuration's.`, example: "changerelayicon https://relay.example/icon.png"},
	}
	return append(methods, adminSnapshotMethods()...)
}

func adminSnapshotMethods() []adminMethod {
	one := []adminArg{agentArg, idArg}
	return []adminMethod{
		{name: "listsnapshots", object: true, args: []adminArg{agentArg}, optional: 1, flags: []string{"tenant"}, short: "List the relay's snapshots of agents", example: "listsnapshots npub1…"},
		{name: "createsnapshot", object: true, args: []adminArg{agentArg}, flags: []string{"tenant", "label", "encrypt", "pin"}, short: "Have the relay make a snapshot of an agent", example: `createsnapshot npub1… --label "before the move"`},
		{name: "verifysnapshot", object: true, args: one, flags: []string{"tenant"}, short: "Have the relay verify a snapshot", example: "verifysnapshot npub1… 20261120T235100Z-0123456789abcdef"},
		{name: "restoresnapshot", object: true, args: one, flags: []string{"tenant", "dry-run", "mode"}, short: "Have the relay restore a snapshot", long: "Have the relay restore a snapshot: repair puts back what is missing, rollback also takes away\nwhat is newer. A snapshot of the state before is always made.", example: "restoresnapshot npub1… 20261120T235100Z-0123456789abcdef --dry-run"},
		{name: "pinsnapshot", object: true, args: one, flags: []string{"tenant"}, short: "Exempt a snapshot from retention", example: "pinsnapshot npub1… 20261120T235100Z-0123456789abcdef"},
		{name: "unpinsnapshot", object: true, args: one, flags: []string{"tenant"}, short: "Let retention have a snapshot again", example: "unpinsnapshot npub1… 20261120T235100Z-0123456789abcdef"},
		{name: "deletesnapshot", object: true, args: one, flags: []string{"tenant", "force"}, short: "Delete a snapshot", long: "Delete a snapshot, a pinned one only with --force. The last verified one of an agent\nstays.", example: "deletesnapshot npub1… 20261120T235100Z-0123456789abcdef"},
	}
}

// params returns the parameters of a call.
func (m adminMethod) params(env *cliutil.Env, flags *pflag.FlagSet, args []string) ([]any, error) {
	params, object := []any{}, m.said(flags)
	for i, text := range args {
		v, err := m.args[i].read(env, m.args[i].name, text)
		if err != nil {
			return nil, err
		}
		params = append(params, v)
		object[m.args[i].member()] = v
	}
	if !m.object {
		return params, nil
	}
	if label, ok := object["label"].(string); ok {
		if err := cliutil.GuardManaged(label); err != nil {
			return nil, err
		}
	}
	return []any{object}, nil
}

// adminFlags are those of snapshot methods. One with a value, which stands behind it in
// a command's line, is a text; the others are switches.
var adminFlags = map[string]struct{ value, or, help string }{
	"tenant":  {" NAME", "", "`name` of the tenant (the relay's default: default)"},
	"label":   {" TEXT", "", "`text` by which people know it"},
	"mode":    {" repair|rollback", "repair", "`repair` or rollback"},
	"encrypt": {help: "encrypt it to the recipients of the relay's configuration"},
	"pin":     {help: "exempt it from retention"},
	"force":   {help: "delete it also if it is pinned"},
	"dry-run": {help: "only say what would be done"},
}

// said returns what the flags of a method say.
func (m adminMethod) said(flags *pflag.FlagSet) map[string]any {
	out := map[string]any{}
	for _, flag := range m.flags {
		name := strings.ReplaceAll(flag, "-", "_")
		if text, _ := flags.GetString(flag); text != "" {
			out[name] = text
		}
		if on, _ := flags.GetBool(flag); on {
			out[name] = true
		}
	}
	return out
}
