package gate

import (
	"slices"

	"github.com/nbd-wtf/go-nostr"
)

// NamesContracts reports whether a filter asks for contract memory by
// contracts' ids.
func NamesContracts(f nostr.Filter) bool {
	return len(f.Tags["d"]) > 0 && namesContractMemory(f.Kinds)
}

func namesContractMemory(numbers []int) bool {
	return slices.ContainsFunc(kinds, func(e entry) bool { return e.Class == Contract && slices.Contains(numbers, e.Number) })
}

// ByContractAlone reports whether a reader's filter passes for contract memory
// because it names contracts, and for nothing else: neither as a party, nor by
// ids, nor as a replica.
func (t *Table) ByContractAlone(r Reader, f nostr.Filter) bool {
	return NamesContracts(f) && !t.Replicates(r) && t.rightsOf(Contract)&byAnyone == 0 && satisfied(r, f)&t.rightsOf(Contract) == byD
}
