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

	endpointLabel    = label{"endpoint", []string{"websocket", "info", "page", "app", "healthz", "readyz", "events", "query", "count", "history", "management", "contracts", "contract_memory", "identities", "openapi", other}}
	httpRefusedLabel = label{"reason", []string{"blocked", "crowded", "late", "bytes", "slow", "memory", "behind", other}}
	apiRefusedLabel  = label{"reason", []string{"signature", "token", "scheme", "replayed", "busy", "too_large", other}}
	outcomeLabel     = label{"outcome", []string{"stored", "replaced", "duplicate", "stale", "conflict", "deleted", "ephemeral", "refused", "failed", other}}
	decisionLabel    = label{"decision", []string{"granted", "auth-required", "restricted", "withheld", other}}
	frameLabel       = label{"label", []string{"EVENT", "REQ", "COUNT", "CLOSE", "AUTH", "NEG-OPEN", "NEG-MSG", "NEG-CLOSE", other}}
	frameReasonLabel = label{"reason", []string{"invalid", "too_large", "subscriptions", "filters", "memory", "syncs", other}}
	refusedLabel     = label{"reason", []string{"total", "address", "draining", "handshake", "hook", other}}
	closedLabel      = label{"reason", []string{"behind", "filters", other}}
	slowLabel        = label{"reason", []string{"stalled", "overflow", "ping", "memory", other}}
	queryLabel       = label{"operation", []string{"query", "search", "count", "ids", "history", "export", other}}
	causeLabel       = label{"cause", []string{"full", "io", "corrupt", "database", "fault", other}}
	failureLabel     = label{"reason", []string{"timeout", "ended", "canceled", "error", other}}
	effortLabel      = label{"effort", []string{"look_up", "scan", other}}
	queueLabel       = label{"queue", []string{"store_writer", "verify", "connections_out_bytes", "cluster", other}}
	removedLabel     = label{"reason", []string{"deletion", "expiry", "vanish", "history", "ban", "operator", "retention", other}}
	adminMethodLabel = label{"method", []string{"supportedmethods", "banpubkey", "unbanpubkey", "listbannedpubkeys", "allowpubkey", "unallowpubkey", "listallowedpubkeys",
		"banevent", "unbanevent", "listbannedevents", "allowevent", "unallowevent", "listallowedevents",
		"allowkind", "disallowkind", "listallowedkinds", "listdisallowedkinds", "blockip", "unblockip", "listblockedips",
		"changerelayname", "changerelaydescription", "changerelayicon",
		"listsnapshots", "createsnapshot", "verifysnapshot", "restoresnapshot", "pinsnapshot", "unpinsnapshot",
		"deletesnapshot", other}}
	adminOutcomeLabel      = label{"outcome", []string{"ok", "invalid", "restricted", "error", other}}
	adminRefusedLabel      = label{"reason", []string{"unauthorized", "stranger", "replayed", "busy", "too_large", other}}
	brokerKindLabel        = label{"kind", []string{"created", "restored", "deleted", "gc", "mutated", other}}
	brokerOutcomeLabel     = label{"outcome", []string{"sent", "dropped"}}
	snapshotOperationLabel = label{"operation", []string{"create", "scheduled", "verify", "repair", "rollback", "replace", "delete", "gc", other}}
	snapshotOutcomeLabel   = label{"outcome", []string{"ok", "unchanged", "invalid", "busy", "failed", other}}
	targetLabel            = label{"target", []string{"local", "remote"}}
	attemptLabel           = label{"outcome", []string{"delivered", "known", "superseded", "withdrawn", "abandoned", "refused", "failed", other}}
	programLabel           = label{"outcome", []string{"accept", "reject", "shadowReject", "error", other}}
	copyLabel              = label{"outcome", []string{"taken", "known", "deleted", "refused", other}}
	copyReasonLabel        = label{"reason", []string{"invalid", "blocked", "restricted", "auth-required", "rate-limited", "pow", "error", other}}
	syncEndLabel           = label{"reason", []string{"closed", "replaced", "idle", "memory", "refused", "gone", "rules", other}}
)

func surfaceNames() (names []string) {
	for _, s := range gate.Surfaces() {
		names = append(names, s.String())
	}
	return names
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
