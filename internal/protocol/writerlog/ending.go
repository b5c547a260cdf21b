package writerlog

import (
	"encoding/hex"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"engramd/nips/nipae"
)

// endingPrefix begins the slugs of endings.
const endingPrefix = unitPrefix + "ends/"

// Ending is a unit of versions that were to stay, and expire with one that somebody wrote
// over them: other writers have no word of that in their logs, and the version that says
// it goes too.
type Ending struct {
	At  int64  // when, in Unix seconds
	IDs []Hash // from 1 to UnitSize
}

// EndingSlug is where the k-th ending lies of what goes with an event.
func EndingSlug(id string, k int) nipae.Slug {
	return nipae.Slug(endingPrefix + id + "/" + strconv.Itoa(k))
}

// Text returns the ending as it is stored.
func (e Ending) Text() string {
	var b strings.Builder
	fmt.Fprintf(&b, "engramd ends 1\nat %d\n", e.At)
	for _, id := range e.IDs {
		fmt.Fprintf(&b, "%x\n", id[:])
	}
	return b.String()
}

// endingOf reads the ending of an engram at the slug of one. The error is ErrUnit.
func endingOf(e nipae.Engram) (Ending, error) {
	text, live := e.Body.Text()
	if !live || !strings.HasPrefix(string(e.Slug()), endingPrefix) {
		return Ending{}, fmt.Errorf("%w: it is at no slug of an ending, or removed", ErrUnit)
	}
	return parseEnding(text)
}

func parseEnding(text string) (e Ending, err error) {
	lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	if len(lines) < 3 || lines[0] != "engramd ends 1" || len(lines) > 2+UnitSize {
		return e, fmt.Errorf("%w: it does not begin as an ending, or is too long", ErrUnit)
	}
	at, found := strings.CutPrefix(lines[1], "at ")
	var ok bool
	if e.At, ok = number(at); !found || !ok || e.At == 0 {
		return Ending{}, fmt.Errorf("%w: it does not say when", ErrUnit)
	}
	for _, line := range lines[2:] {
		id, good := ParseID(line)
		if !good {
			return Ending{}, fmt.Errorf("%w: a line of it is no id", ErrUnit)
		}
		e.IDs = append(e.IDs, id)
	}
	return e, nil
}

// end takes what an ending says: of two the sooner.
func (in *Evidence) end(e Ending) {
	if in.Ends == nil {
		in.Ends = map[string]int64{}
	}
	for _, id := range e.IDs {
		name := hex.EncodeToString(id[:])
		in.Ends[name] = sooner(in.Ends[name], e.At)
	}
}

// ended has numbers expire of which an ending says so.
func (j *judging) ended() {
	if len(j.in.Ends) == 0 {
		return
	}
	for _, l := range j.logs {
		for _, n := range l.of {
			for _, id := range n.ids {
				n.ends = sooner(n.ends, j.in.Ends[id])
			}
		}
	}
}

// sooner is the sooner of two times, of which 0 is never.
func sooner(a, b int64) int64 {
	if times := slices.DeleteFunc([]int64{a, b}, func(at int64) bool { return at == 0 }); len(times) > 0 {
		return slices.Min(times)
	}
	return 0
}
