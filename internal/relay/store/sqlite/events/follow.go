package events

import (
	"context"
	"fmt"

	"engramd/internal/relay/store"
	"engramd/internal/relay/store/sqlite/engine"
)

// followedKey begins the keys of the table meta that say how far another relay
// was followed.
const followedKey = "followed "

// Follow notes how far a relay was followed, by a name of the caller's.
func (s *Store) Follow(ctx context.Context, source string, to store.Place) error {
	return s.tell(ctx, store.Followed{Source: source, To: to})
}

// FollowedTo is what Follow noted last, the zero Place for nothing. Errors are
// as of Query.
func (s *Store) FollowedTo(ctx context.Context, source string) (to store.Place, err error) {
	err = s.db.Read(ctx, engine.LookUp, func(_ context.Context, c *engine.Conn) error {
		text, err := c.Meta(followedKey + source)
		if err != nil || text == "" {
			return err
		}
		_, err = fmt.Sscanf(text, "%d %d", &to.Number, &to.Time)
		return err
	})
	return to, err
}
