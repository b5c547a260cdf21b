package identities

import "engramd/internal/relay/store"

// Open has nothing to read.
func (w *Writer) Open() error { return nil }

// Vanished forgets the agent of a key that asked to vanish.
func (w *Writer) Vanished(author []byte, until int64) (more bool, err error) {
	return false, w.vanishAgent(author, until)
}

// Execute executes the commands on identities.
func (w *Writer) Execute(c store.Command) (answer any, handled bool, err error) {
	switch c := c.(type) {
	case store.AddAgent:
		answer, err = w.addAgent(c.Agent, c.Token)
	case store.ReplaceToken:
		err = w.replaceToken(c.ID, c.Hash)
	case store.DropTokens:
		err = w.dropTokens(c.ID)
	case store.ForgetKey:
		err = w.forgetKey(c.ID, c.Sealed)
	case store.DropAgent:
		err = w.dropAgent(c.ID, c.WithKey)
	case store.SetVaultCheck:
		answer, err = w.setVaultCheck(c.Check)
	case store.SetRelayKey:
		err = w.setRelayKey(c.PubKey, c.Revoke)
	case store.RevokeRelayKey:
		answer, err = w.revokeRelayKey(c.PubKey)
	default:
		return nil, false, nil
	}
	return answer, true, err
}
