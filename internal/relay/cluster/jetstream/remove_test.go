package jetstream

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// What came of a removal is told by the last answer: the one that said so may be lost.
func TestRemove(t *testing.T) {
	said := func(code int) (a removed) {
		a.Error.Code, a.Error.Description = code, "as it said"
		return a
	}
	lost := errors.New("lost")
	type answer struct {
		removed
		err error
	}
	for name, c := range map[string]struct {
		unlisted bool
		answers  []answer
		want     string
	}{
		"at once":                      {answers: []answer{{removed{Success: true}, nil}}},
		"no leader at first":           {answers: []answer{{err: lost}, {removed{Success: true}, nil}}},
		"the answer was lost":          {answers: []answer{{err: lost}, {said(inFlight), nil}, {said(notMember), nil}}},
		"after another change":         {answers: []answer{{said(inFlight), nil}, {removed{Success: true}, nil}}},
		"never in the group":           {unlisted: true, answers: []answer{{err: lost}, {said(notMember), nil}}, want: "it is not removed: as it said"},
		"refused":                      {answers: []answer{{said(1), nil}}, want: "it is not removed: as it said"},
		"no answer in all that time":   {answers: []answer{{err: lost}}, want: "not known whether c is removed"},
		"a change that does not end":   {answers: []answer{{err: lost}, {said(inFlight), nil}}, want: "not known whether c is removed"},
		"nobody knows it, and no word": {unlisted: true, answers: []answer{{err: lost}}, want: "not known whether c is removed"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := removal{Name: "c", ID: peerID("c")}
				if c.unlisted {
					r.ID = ""
				}
				left := c.answers
				err := (&setup{o: Options{Patience: 15 * time.Second}}).remove(t.Context(), r, func(context.Context) (removed, error) {
					now := left[0]
					if len(left) > 1 {
						left = left[1:]
					}
					return now.removed, now.err
				})
				if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
					t.Errorf("%v, want %q", err, c.want)
				}
			})
		})
	}
}
