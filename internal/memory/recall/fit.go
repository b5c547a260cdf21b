package recall

import "math"

// Fit says how well something fits a query.
type Fit uint8

// The fits.
const (
	None Fit = iota
	Weak
	Strong
)

// String returns the word of a fit.
func (f Fit) String() string { return [...]string{"none", "weak", "strong"}[f] }

// signs are what tells a hit that fits a query from one that shares some words
// with it. Mass is a sum of idf, with common words and near ones at less.
type signs [numSigns]float64

const (
	signCovered  = iota // share of the mass of all terms that the hit has
	signHalf            // the same with terms that no memory has at half
	signKnown           // the same without these
	signMass            // log(1 + mass), in units of a term that no memory has
	signMatched         // log(1 + how many terms the hit has)
	signTerms           // log(1 + how many terms were asked)
	signRare            // mass of the rarest term that the hit has, in the same units
	signPlain           // 1 if it has no term to the letter but common words
	signPerson          // 1 if it is of the person who is named
	signDate            // 1 if it is of the date that is named
	signExact           // share of its terms that it has to the letter
	signMemories        // log of how many sections there are
	signUnits           // the cosine, in units of the collection's own
	signAsked           // the same in those of this question's
	signGap             // by how much it is above the sixth, in units of the collection's
	numSigns
)

// signsOf reads the signs of the best section of a document.
func (s *search) signsOf(b best) (v signs) {
	unit := idf(0, max(s.a.live, 2))
	var has, total, half, known, exact, matched, terms float64
	plain, whole := 1., true // has all of a date
	for i, t := range s.a.terms {
		whole = whole && (!t.dated || b.mask>>i&1 == 1)
	}
	for i, t := range s.a.terms {
		mass := s.idf[i]
		if t.common {
			mass *= wCommon
		}
		if t.dated && b.why&ByTime != 0 {
			continue
		}
		if t.dated && !whole { // a number of another date
			t.common = true
			mass *= wCommon
		}
		terms++
		total += mass
		if t.at == nil {
			half += mass / 2
		} else {
			half += mass
			known += mass
		}
		if b.mask>>i&1 == 0 {
			continue
		}
		near := most(t.at)
		if t.person != "" && b.why&ByPerson != 0 {
			near = 1
		}
		matched++
		has += mass * near
		v[signRare] = max(v[signRare], mass*near/unit)
		if near == 1 {
			exact++
			if !t.common {
				plain = 0
			}
		}
	}
	date := 0.
	if b.why&ByTime != 0 {
		date, plain = 1, 0
		if total == 0 {
			has, total, half, known = 1, 1, 1, 1
		}
	}
	share := func(of float64) float64 { return has / max(of, 1e-9) }
	v[signCovered], v[signHalf], v[signKnown] = share(total), share(half), share(known)
	v[signMass], v[signMatched], v[signTerms] = math.Log1p(has/unit), math.Log1p(matched), math.Log1p(terms)
	v[signPlain], v[signDate] = plain, date
	if b.why&ByPerson != 0 {
		v[signPerson] = 1
	}
	if matched > 0 {
		v[signExact] = exact / matched
	}
	v[signMemories] = math.Log1p(float64(min(s.a.live, mostMemories)))
	if b.compared {
		s.units.signs(&v, b.cosine)
	}
	return v
}

// fitness is a logistic function of signs: how likely a hit fits its query. The weights
// were fitted on memories of a software project, short notes in ten languages, articles
// and talks, with questions whose answer was taken away as those to which nothing fits
// (docs/benchmarks/RECALL.md).
type fitness struct {
	signs
	base, covering float64 // of covered × mass
	best           float64 // of the score as a share of the best one
}

var (
	byWords = fitness{signs{
		signHalf: 1.02, signMass: 4.13, signMatched: -1.17, signRare: -0.23, signPlain: -0.25, signPerson: 2.30,
		signDate: 1.88, signExact: 0.48, signMemories: -1.04,
	}, -1.30, 4.75, 0.12}
	byBoth = fitness{signs{
		signHalf: 2.34, signMass: 3.20, signMatched: -0.58, signRare: 1.02, signPlain: -0.66, signPerson: 0.71,
		signDate: 1.95, signExact: -1.54, signMemories: -0.41, signUnits: 0.16, signAsked: 0.18, signGap: 0.11,
	}, -3.46, 0, 1.55}
)

const (
	// mostMemories is where more sections change nothing: the largest collection of
	// the sets.
	mostMemories = 1000

	// strong is how likely a hit fits that is called strong.
	strong = 0.30
	// meant is what the best cosine has to say for meaning to be a reason, and the others
	// half of it: the part of byBoth that it has.
	meant = 0.5
	// looked is among how many of the best an answer's fit is looked for.
	looked = 3
)

// odds are the log-odds that a hit with these signs fits; share is its score as a share of
// the best one.
func (f *fitness) odds(v *signs, share float64) float64 {
	z := f.base + f.covering*v[signCovered]*v[signMass] + f.best*share
	for i, w := range f.signs {
		z += w * v[i]
	}
	return z
}

// odds are the log-odds that a hit fits its query. best is the score of the first hit.
func (h *Hit) odds(best float64) float64 {
	share, by := 0., &byWords
	if best > 0 {
		share = h.Score / best
	}
	if h.compared {
		by = &byBoth
	}
	return by.odds(&h.signs, share)
}

// likely is a probability, of log-odds.
func likely(odds float64) float64 { return 1 / (1 + math.Exp(-odds)) }

// means reports whether a cosine says enough to be a reason.
func (u *units) means(cosine float64) bool {
	return cosine > u.least && u.says(u.best) >= meant && u.says(cosine) >= meant/2
}

// says is the part of byBoth that a cosine has.
func (u *units) says(cosine float64) (sum float64) {
	var v signs
	u.signs(&v, cosine)
	for _, i := range []int{signUnits, signAsked, signGap} {
		sum += byBoth.signs[i] * v[i]
	}
	return sum
}

// own reports whether a hit has a reason of its own.
func (h *Hit) own() bool { return h.Why&^(ByLink|ByBeside) != 0 }

// judge says of each hit how well it fits. A phrase and a person alone were asked
// for as they are; parts of words never fit well.
func judge(hits []Hit, a *asked, parts bool) {
	for i := range hits {
		h := &hits[i]
		h.Fit = Weak
		if parts {
			continue
		}
		if a.alone || a.phrases != nil || h.signs[signCovered] >= 1 && h.signs[signPlain] == 0 || h.own() && likely(h.odds(hits[0].Score)) >= strong {
			h.Fit = Strong
		}
	}
}

// FitOf is the fit of an answer: the best of its first hits'.
func FitOf(found []Found) (f Fit) {
	for _, h := range found[:min(len(found), looked)] {
		f = max(f, h.Fit)
	}
	return f
}

func fitOf(hits []Hit) (f Fit) {
	for _, h := range hits[:min(len(hits), looked)] {
		f = max(f, h.Fit)
	}
	return f
}
