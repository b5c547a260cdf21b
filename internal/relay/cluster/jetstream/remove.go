package jetstream

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
)

// ErrFew means that there would be fewer servers than are to keep the log.
var ErrFew = errors.New("no other server could take its copy of the log")

// RemoveServer takes a server out of those that keep streams, whether it runs or not;
// another one gets its copy of the log. ErrFew if there is none, unless anyway.
func (c *Conn) RemoveServer(ctx context.Context, name string, anyway bool) error {
	if c.o.SystemCredentials == "" {
		return fmt.Errorf("%w: only a user of the system account may: name its credentials in cluster.system_credentials", ErrOptions)
	}
	all, err := c.system(ctx, nil) // and those in reserve
	if err != nil {
		return err
	}
	left, r := 0, removal{Name: name}
	for _, s := range all {
		if s.Name != name && s.JetStream && !s.loose() {
			left++
		}
		if id := peerID(name); slices.Contains(s.Group, id) {
			r.ID = id
		}
	}
	if left < c.o.Replicas && !anyway {
		return fmt.Errorf("%w: without %s %d would be left, and no node starts while fewer than cluster.replicas, %d, keep the log", ErrFew, name, left, c.o.Replicas)
	}
	nc, err := c.asSystem(ctx)
	if err != nil {
		return err
	}
	defer nc.Close()
	request, err := json.Marshal(r)
	if err != nil {
		return err
	}
	return c.remove(ctx, r, func(ctx context.Context) (answer removed, err error) {
		ctx, cancel := context.WithTimeout(ctx, systemLimit)
		defer cancel()
		m, err := nc.RequestWithContext(ctx, "$JS.API.SERVER.REMOVE", request)
		if err == nil {
			err = json.Unmarshal(m.Data, &answer)
		}
		return answer, err
	})
}

// removal names the server, by its id if the others have that in their group: the leader
// knows the names of those only that it has heard since its start.
type removal struct {
	Name string `json:"peer"`
	ID   string `json:"peer_id,omitempty"`
}

// removed is the leader's answer, which comes when the change is kept by a majority.
type removed struct {
	Success bool `json:"success"`
	Error   struct {
		Code        int    `json:"err_code"`
		Description string `json:"description"`
	} `json:"error"`
}

// The codes of answers.
const (
	notMember = 10044
	inFlight  = 10202 // a change, perhaps this one
)

// remove asks until there is a leader, who alone answers, and until it is known what came
// of it: the answer may be lost, and a server that was in the group and is not is removed.
func (c *setup) remove(ctx context.Context, r removal, ask func(context.Context) (removed, error)) error {
	var refused error
	err := c.patiently(ctx, func(ctx context.Context) error {
		answer, err := ask(ctx)
		switch said := answer.Error; {
		case err != nil:
			return fmt.Errorf("the servers do not answer, or this user may not remove one: %w", err)
		case answer.Success, said.Code == notMember && r.ID != "":
			return nil
		case said.Code == inFlight:
			return errors.New(said.Description)
		default:
			refused = fmt.Errorf("it is not removed: %s", said.Description)
			return nil
		}
	})
	if err != nil {
		return fmt.Errorf("it is not known whether %s is removed, run it again: %w", r.Name, err)
	}
	return refused
}

// peerID is how servers name one of them in their group, by its name.
func peerID(name string) string {
	const signs = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
	sum := sha256.Sum256([]byte(name))
	id := sum[:8]
	for i := range id {
		id[i] = signs[int(id[i])%len(signs)]
	}
	return string(id)
}
