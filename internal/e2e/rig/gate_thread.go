package rig

// ContractsPath is where the contract memory API has its contracts.
const ContractsPath = "/api/escrow/contracts"

// GateSummary is a summary but for its times.
type GateSummary struct {
	Total        int            `json:"total_entries"`
	ByType       map[string]int `json:"by_type"`
	ByAuthor     map[string]int `json:"by_author"`
	ByVisibility map[string]int `json:"by_visibility"`
	Published    int            `json:"nostr_published"`
	Transitions  int            `json:"total_transitions"`
	Notes        []struct{ Note string }
}
