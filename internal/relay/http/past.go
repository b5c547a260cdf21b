package relayhttp

import (
	"errors"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"engramd/internal/relay"
	"engramd/nips/nip01"
)

// position is the header that says which number was the relay's last when
// everybody's history was asked for: what gets into history later has a greater
// one, or is a head now.
const position = "Engramd-Position"

// positionTime is the header that says the relay's time then.
const positionTime = "Engramd-Time"

// maxPastKinds bounds the kinds of one question.
const maxPastKinds = 64

// isPast reports whether a question for history goes on behind a number instead
// of naming an author.
func isPast(raw string) bool {
	values, err := url.ParseQuery(raw)
	return err == nil && values["after"] != nil && values["author"] == nil
}

// past streams everybody's superseded versions, for replicas.
func (b *bridge) past(c *call) error {
	q, err := pastQuery(c.URL.RawQuery)
	if err != nil {
		return refused(nip01.PrefixInvalid, err.Error())
	}
	now := strconv.FormatInt(b.in.signatures.clock().Unix(), 10) // before anything is read
	versions, at, err := b.backend.Past(c.Context(), q)
	if err != nil {
		return failed(err)
	}
	c.w.Header().Set(positionTime, now)
	c.w.Header().Set(position, strconv.FormatInt(at, 10))
	return b.stream(c, versions)
}

// pastQuery reads after, and kind, since, arrival and limit where they are given.
func pastQuery(raw string) (q relay.PastQuery, err error) {
	err = eachParameter(raw, func(name, value string) error { return setPast(&q, name, value) })
	return q, err
}

func setPast(q *relay.PastQuery, name, value string) error {
	switch name {
	case "after":
		n, ok := plainNumber(value, 63)
		q.After = int64(n)
		if !ok {
			return errors.New("parameter after must be a number from 0 on")
		}
	case "since":
		n, ok := plainNumber(value, 63)
		since := int64(n)
		q.Since = &since
		if !ok {
			return errors.New("parameter since must be a time in seconds")
		}
	case "kind":
		for text := range strings.SplitSeq(value, ",") {
			n, ok := plainNumber(text, 16)
			if !ok || len(q.Kinds) == maxPastKinds {
				return errors.New("parameter kind must be up to " + strconv.Itoa(maxPastKinds) + " numbers from 0 to 65535, by commas")
			}
			q.Kinds = append(q.Kinds, int(n))
		}
		slices.Sort(q.Kinds)
		q.Kinds = slices.Compact(q.Kinds)
	case "arrival":
		q.Arrivals = value == "true"
		if value != "true" && value != "false" {
			return errors.New("parameter arrival must be true or false")
		}
	case "limit":
		n, ok := plainNumber(value, 31)
		q.Limit = int(n)
		if !ok || n == 0 {
			return errors.New("parameter limit must be a number from 1 on")
		}
	default:
		return errors.New("the query string has an unknown parameter; without author it takes after, kind, since, arrival and limit")
	}
	return nil
}
