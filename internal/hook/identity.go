package hook

import "fmt"

// identityBudget is how much the identity may take.
const identityBudget = 400

// maxHash is how many digits of a hash are shown.
const maxHash = 16

// Identity is who begins a session: by its key, and by the story that it has of
// itself.
type Identity struct {
	Agent, Owner string // npub
	// Hash is that of the narrative's text, "" without one; Versions how many
	// versions of it are kept, 0 if that is not known.
	Hash     string
	Versions int
}

// Section says it.
func (i Identity) Section() Section {
	if i.Agent == "" {
		return Section{}
	}
	text := fmt.Sprintf("[Agent Memory — identity]\nYour key is %s; you remember for %s.\n", i.Agent, i.Owner)
	if i.Hash != "" {
		text += "Your narrative has the hash " + i.Hash[:min(len(i.Hash), maxHash)]
		if i.Versions > 0 {
			text += fmt.Sprintf(", and is its version %d", i.Versions)
		}
		text += ".\n"
	}
	return Section{Text: text, Budget: identityBudget}
}
