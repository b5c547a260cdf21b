package gate

import (
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/e2e/relaytest"
	"engramd/internal/relay/gate"
	"engramd/internal/relay/gate/oracle"
	"engramd/nips/nip01"
	"engramd/nips/nip77"
)

// askSync reconciles with an empty set, filter by filter, because a NEG-OPEN
// has one filter: the answer lists all ids. A limit is removed, because a
// filter with one is refused.
func askSync(c *gateConn, s gate.Surface, asks []gateAsk) ([]gateAnswer, error) {
	for n, ask := range asks {
		for i, f := range ask.filters {
			f.Limit, f.LimitZero = 0, false
			sub := fmt.Sprintf("%v-%d-%d", s, n, i)
			if err := errors.Join(c.Send("NEG-OPEN", sub, gateFilters([]nostr.Filter{f})[0], "6100000200"), c.Send("NEG-CLOSE", sub)); err != nil {
				return nil, err
			}
		}
	}
	answers := make([]gateAnswer, len(asks))
	for n, ask := range asks {
		for i := range ask.filters {
			if err := c.takeSync(&answers[n], fmt.Sprintf("%v-%d-%d", s, n, i)); err != nil {
				return nil, err
			}
		}
	}
	return answers, nil
}

// takeSync adds the answer to one filter of a question.
func (c *gateConn) takeSync(a *gateAnswer, sub string) error {
	f, err := c.Next()
	for err == nil && c.isMarkerCopy(f) {
		f, err = c.Next()
	}
	challenged := err == nil && f.Label == "AUTH" && f.Text(0) == c.Challenge
	if challenged {
		f, err = c.Next()
	}
	switch {
	case err != nil:
		return err
	case f.Sub() != sub:
		return fmt.Errorf("not an answer to %s: %.200s", sub, f.Raw)
	case f.Label == "NEG-ERR":
		if text := f.Text(1); a.closed == "" {
			a.closed, a.ids = text, nil
		}
		if strings.HasPrefix(f.Text(1), nip01.PrefixAuthRequired) != challenged {
			return fmt.Errorf("challenged %v before %.200s", challenged, f.Raw)
		}
		return nil
	case f.Label != "NEG-MSG":
		return fmt.Errorf("not an answer: %.200s", f.Raw)
	}
	ids, err := listedIDs(f)
	if a.closed == "" {
		a.ids = append(a.ids, ids...)
	}
	return err
}

// listedIDs returns the ids of a NEG-MSG that lists everything.
func listedIDs(f relaytest.Frame) (ids []string, err error) {
	msg, err := hex.DecodeString(f.Text(1))
	if err != nil {
		return nil, err
	}
	none, err := nip77.NewSet(nil)
	if err != nil {
		return nil, err
	}
	next, _, need, err := nip77.NewInitiator(none, nip77.MinLimit).Next(msg)
	if err == nil && next != nil {
		err = fmt.Errorf("%d ids, and there are more", len(need))
	}
	for _, id := range need {
		ids = append(ids, hex.EncodeToString(id[:]))
	}
	return ids, err
}

// judgeSync requires every visible event and no other, whatever the limit.
func judgeSync(_ oracle.Options, _ gateAsk, visible []*nostr.Event, got gateAnswer) string {
	ids := slices.Compact(slices.Sorted(slices.Values(got.ids)))
	if want := slices.Sorted(slices.Values(gateIDs(visible))); !slices.Equal(ids, want) {
		return gateDiff(ids, visible)
	}
	return ""
}
