package nip77

import "fmt"

const (
	buckets = 16
	// spare is room for what ends a message that is full: one skip, the last
	// fingerprint, and the count of a list.
	spare = 200
	// splitSize is the most that the parts of one range have: sixteen fingerprints
	// or 31 ids, each under a bound of at most 42 bytes.
	splitSize = buckets*(maxVarint+1+idSize+1+fingerprintSize) + (2*buckets-1)*idSize
)

// listed is told of a range that the other side lists: where the items here begin
// and end, and the ids there. Without it, the range is answered with a list.
type listed func(lower, upper int, theirs []byte)

// reconciling is one message being answered.
type reconciling struct {
	set   *Set
	in    reader
	out   writer
	limit int
	// Up to prev and below it, everything is answered; skipped says that the end of
	// the answer has not been said yet, because there was nothing to say.
	prev    bound
	index   int
	skipped bool
}

// Reply answers a message. The answer has at most limit bytes, which must be
// MinLimit or more; what it has no room for, the next message gets to. A message
// of another version is answered with ours.
func (s *Set) Reply(msg []byte, limit int) ([]byte, error) {
	if len(msg) > 0 && msg[0] != Version && msg[0]&0xf0 == Version&0xf0 {
		return []byte{Version}, nil
	}
	return s.reconcile(msg, limit, nil)
}

func (s *Set) reconcile(msg []byte, limit int, list listed) ([]byte, error) {
	if limit < MinLimit {
		return nil, fmt.Errorf("a limit of %d bytes, under %d", limit, MinLimit)
	}
	if len(msg) == 0 || msg[0] != Version {
		return nil, bad("it does not begin with a version")
	}
	r := reconciling{set: s, in: reader{left: msg[1:]}, limit: limit}
	r.out.out = append(make([]byte, 0, min(limit, 2*splitSize)), Version)
	for full := false; !full && len(r.in.left) > 0; {
		var err error
		if full, err = r.next(list); err != nil {
			return nil, err
		}
	}
	return r.out.out, nil
}

// next answers one range, and reports whether the answer is full.
func (r *reconciling) next(list listed) (full bool, err error) {
	p, err := r.in.part()
	if err != nil {
		return false, err
	}
	upper := r.set.find(r.index, p.end)
	switch p.mode {
	case modeSkip:
		r.skipped = true
	case modeFingerprint:
		if r.set.fingerprint(r.index, upper) == p.fingerprint {
			r.skipped = true
			break
		}
		r.saySkipped()
		if len(r.out.out)+splitSize > r.limit-spare {
			r.rest()
			return true, nil
		}
		r.split(upper, p.end)
	case modeIDs:
		if list != nil {
			list(r.index, upper, p.ids)
			r.skipped = true
			break
		}
		if r.list(upper, p.end) {
			return true, nil
		}
	}
	r.index, r.prev = upper, p.end
	return false, nil
}

// saySkipped ends the ranges about which there was nothing to say.
func (r *reconciling) saySkipped() {
	if r.skipped {
		r.skipped = false
		r.out.skip(r.prev)
	}
}

// split answers a range whose fingerprint differs with its parts, or with its
// ids if there are few.
func (r *reconciling) split(upper int, end bound) {
	n := upper - r.index
	if n < 2*buckets {
		r.out.ids(end, r.set.items[r.index:upper])
		return
	}
	at := r.index
	for i := range buckets {
		from := at
		at += n / buckets
		if i < n%buckets {
			at++
		}
		part := end
		if at < upper {
			part = r.set.before(at)
		}
		r.out.fingerprint(part, r.set.fingerprint(from, at))
	}
}

// list answers a range with the ids in it, as many as there is room for. The rest
// of the set is then one fingerprint, and the answer full.
func (r *reconciling) list(upper int, end bound) (full bool) {
	r.saySkipped()
	left := r.limit - spare - len(r.out.out)
	if left < 0 { // empty lists have filled it
		r.rest()
		return true
	}
	room := left / idSize
	if upper-r.index <= room {
		r.out.ids(end, r.set.items[r.index:upper])
		return false
	}
	if room > 0 {
		upper = r.index + room
		r.out.ids(r.set.before(upper), r.set.items[r.index:upper])
		r.index = upper
	}
	r.rest()
	return true
}

// rest ends a full answer: what it has not come to is one range.
func (r *reconciling) rest() {
	r.out.fingerprint(bound{Item: Item{CreatedAt: infinity}}, r.set.fingerprint(r.index, len(r.set.items)))
}
