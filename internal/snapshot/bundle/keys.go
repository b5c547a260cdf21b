package bundle

import (
	"errors"
	"sync"

	"engramd/nips/nipae"
)

// Keys gives the key under which an owner's engrams of an agent are encrypted;
// false if it has none for the pair. It may be called concurrently.
type Keys func(agent, owner string) (nipae.ConversationKey, bool)

// KeysOf returns the Keys of a party: secret is its secret key, self its public
// key, 64 hex digits each. As agent it reads everything it wrote, as owner what
// names it.
func KeysOf(secret, self string) (Keys, error) {
	if _, err := nipae.DeriveConversationKey(secret, self); err != nil {
		return nil, err
	}
	if CheckAgent(self) != nil {
		return nil, errors.New("a public key is 64 lower-case hex digits")
	}
	var mu sync.Mutex
	known := map[string]nipae.ConversationKey{}
	return func(agent, owner string) (nipae.ConversationKey, bool) {
		other := agent
		switch self {
		case agent:
			other = owner
		case owner:
		default:
			return nipae.ConversationKey{}, false
		}
		mu.Lock()
		defer mu.Unlock()
		if k, ok := known[other]; ok {
			return k, true
		}
		k, err := nipae.DeriveConversationKey(secret, other)
		if err != nil {
			return k, false
		}
		if len(known) < 1024 { // owners are the file's word
			known[other] = k
		}
		return k, true
	}, nil
}
