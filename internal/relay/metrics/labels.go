package metrics

import (
	"slices"

	"engramd/internal/relay/gate"
)

// label is one label name with the values it may take.
type label struct {
	name   string
	values []string
}

// other is what every unlisted value is counted as.
const other = "other"

// of returns v when it is listed, else other.
func (l label) of(v string) string {
	if slices.Contains(l.values, v) {
		return v
	}
	return other
}

// The closed sets. Classes, rules and surfaces are the words of the read gate,
// taken from it; outcomes those of the store and of the write policy.
var (
	gateClasses  = label{"class", append(gate.ClassNames(), other)}
	gateRules    = label{"rule", append(gate.ClassNames(), gate.RuleWildcard, gate.RulePrivate, other)}
	gateSurfaces = label{"surface", append(surfaceNames(), other)}
)

func surfaceNames() (names []string) {
	for _, s := range gate.Surfaces() {
		names = append(names, s.String())
	}
	return names
}

func outcomeLabel() label {
	return label{"outcome", []string{"stored", "replaced", "duplicate", "stale", "conflict", "deleted", "ephemeral", "refused", "failed", other}}
}

func decisionLabel() label {
	return label{"decision", []string{"granted", "auth-required", "restricted", "withheld", other}}
}

func frameLabel() label {
	return label{"label", []string{"EVENT", "REQ", "COUNT", "CLOSE", "AUTH", "NEG-OPEN", "NEG-MSG", "NEG-CLOSE", other}}
}

func frameReasonLabel() label {
	return label{"reason", []string{"invalid", "too_large", "subscriptions", "filters", "memory", "syncs", other}}
}

func refusedLabel() label {
	return label{"reason", []string{"total", "address", "draining", "handshake", "hook", other}}
}

func closedLabel() label {
	return label{"reason", []string{"behind", "filters", other}}
}

func slowLabel() label {
	return label{"reason", []string{"stalled", "overflow", "ping", "memory", other}}
}

func queryLabel() label {
	return label{"operation", []string{"query", "search", "count", "ids", "history", "export", other}}
}

func failureLabel() label {
	return label{"reason", []string{"timeout", "ended", "canceled", "error", other}}
}

func effortLabel() label { return label{"effort", []string{"look_up", "scan", other}} }

func queueLabel() label {
	return label{"queue", []string{"store_writer", "verify", "connections_out_bytes", "cluster", other}}
}

func removedLabel() label {
	return label{"reason", []string{"deletion", "expiry", "vanish", "history", "ban", "operator", "retention", other}}
}

func adminMethodLabel() label {
	return label{"method", []string{"supportedmethods", "banpubkey", "unbanpubkey", "listbannedpubkeys", "allowpubkey", "unallowpubkey", "listallowedpubkeys",
		"banevent", "unbanevent", "listbannedevents", "allowevent", "unallowevent", "listallowedevents",
		"allowkind", "disallowkind", "listallowedkinds", "listdisallowedkinds", "blockip", "unblockip", "listblockedips",
		"changerelayname", "changerelaydescription", "changerelayicon",
		"listsnapshots", "createsnapshot", "verifysnapshot", "restoresnapshot", "pinsnapshot", "unpinsnapshot",
		"deletesnapshot", other}}
}

func adminOutcomeLabel() label {
	return label{"outcome", []string{"ok", "invalid", "restricted", "error", other}}
}

func adminRefusedLabel() label {
	return label{"reason", []string{"unauthorized", "stranger", "replayed", "busy", "too_large", other}}
}

func brokerKindLabel() label {
	return label{"kind", []string{"created", "restored", "deleted", "gc", "mutated", other}}
}

func brokerOutcomeLabel() label { return label{"outcome", []string{"sent", "dropped"}} }

func snapshotOperationLabel() label {
	return label{"operation", []string{"create", "scheduled", "verify", "repair", "rollback", "replace", "delete", "gc", other}}
}

func snapshotOutcomeLabel() label {
	return label{"outcome", []string{"ok", "unchanged", "invalid", "busy", "failed", other}}
}

// each calls fn with every combination of the labels' values but other.
func each(labels []label, prefix []string, fn func([]string)) {
	if len(labels) == 0 {
		fn(prefix)
		return
	}
	for _, v := range labels[0].values {
		if v == other {
			continue // made when something unlisted turns up
		}
		each(labels[1:], append(slices.Clone(prefix), v), fn)
	}
}
