package nip77

// Between finds out what two sides do not have in common that both only answer,
// without a set of its own: it passes the answer of one on to the other, and
// keeps back what both have said all about. Like an Initiator it needs somebody
// to bound the number of messages.
type Between struct {
	opened bool
	// listed is what the message lists that was passed on last.
	listed map[span][]byte
	told   map[[idSize]byte]struct{}
}

// span is a range between two bounds.
type span struct{ lower, upper Item }

// NewBetween is for two sides that have said nothing yet.
func NewBetween() *Between {
	return &Between{listed: map[span][]byte{}, told: map[[idSize]byte]struct{}{}}
}

// Open is the first message, to one of the sides: a fingerprint of everything that
// no set has, so that the answer tells what there is.
func (b *Between) Open() []byte {
	var none [fingerprintSize]byte
	for i := range none {
		none[i] = 0xff
	}
	w := writer{out: []byte{Version}}
	w.fingerprint(bound{Item: Item{CreatedAt: infinity}}, none)
	return w.out
}

// Next takes an answer and returns what goes to the other side, which is nil when
// all is told, and what is known by this answer: the ids that only the side has
// which gave it, and those that only the other has. No id is told twice.
func (b *Between) Next(msg []byte) (pass []byte, mine, others [][32]byte, err error) {
	switch {
	case len(msg) == 1 && msg[0] != Version:
		return nil, nil, nil, ErrVersion
	case len(msg) == 0 || msg[0] != Version:
		return nil, nil, nil, bad("it does not begin with a version")
	case len(msg) == 1 && !b.opened:
		return nil, nil, nil, bad("it has what no set has")
	}
	b.opened = true
	in, out := reader{left: msg[1:]}, passing{out: writer{out: []byte{Version}}, listed: map[span][]byte{}}
	for len(in.left) > 0 {
		s := span{lower: in.last.Item}
		p, err := in.part()
		if err != nil {
			return nil, nil, nil, err
		}
		s.upper = p.end.Item
		theirs, both := b.listed[s]
		switch {
		case p.mode == modeSkip:
			out.skip(p.end)
		case p.mode == modeFingerprint:
			out.fingerprint(p.end, p.fingerprint)
		case both:
			mine, others = b.lacking(mine, p.ids, theirs), b.lacking(others, theirs, p.ids)
			out.skip(p.end)
		default:
			out.ids(s, p.end, p.ids)
		}
	}
	b.listed = out.listed
	if len(out.out.out) == 1 {
		return nil, mine, others, nil
	}
	return out.out.out, mine, others, nil
}

// lacking appends the ids that are in one list and not in the other, and were not
// told before.
func (b *Between) lacking(to [][idSize]byte, in, notIn []byte) [][idSize]byte {
	other := make(map[[idSize]byte]struct{}, len(notIn)/idSize)
	for at := 0; at < len(notIn); at += idSize {
		other[[idSize]byte(notIn[at:])] = struct{}{}
	}
	for at := 0; at < len(in); at += idSize {
		id := [idSize]byte(in[at:])
		_, both := other[id]
		if _, told := b.told[id]; !told && !both {
			b.told[id] = struct{}{}
			to = append(to, id)
		}
	}
	return to
}

// passing is a message on its way to the other side.
type passing struct {
	out     writer
	listed  map[span][]byte
	skipped *bound // the end of what was kept back and has not been said
}

func (p *passing) skip(end bound) { p.skipped = &end }

// saySkipped ends what was kept back.
func (p *passing) saySkipped() {
	if p.skipped != nil {
		p.out.skip(*p.skipped)
		p.skipped = nil
	}
}

func (p *passing) fingerprint(end bound, f [fingerprintSize]byte) {
	p.saySkipped()
	p.out.fingerprint(end, f)
}

func (p *passing) ids(s span, end bound, ids []byte) {
	p.saySkipped()
	p.listed[s] = ids
	p.out.bound(end)
	p.out.out = appendVarint(append(p.out.out, modeIDs), uint64(len(ids)/idSize))
	p.out.out = append(p.out.out, ids...)
}
