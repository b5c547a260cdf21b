package activity

const (
	// DefaultBudget is how many tokens a memory may have before archiving is
	// proposed.
	DefaultBudget = 2_000_000
	// Earns is what a unit adds to the budget that was useful, once on a day, and
	// maxEarned all of them together.
	Earns     = 50_000
	maxEarned = 500_000
)

// Budget is how many tokens a memory may have: the owner's figure, or
// DefaultBudget for 0, and what was earned by so many days of use.
func Budget(own, earned int) int {
	if own <= 0 {
		own = DefaultBudget
	}
	return own + min(max(0, earned), maxEarned/Earns)*Earns
}
