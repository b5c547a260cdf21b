package recall

import "math"

// Near compares a text, a query or a part of one, with sections in meaning; false where it
// says nothing of that text.
type Near func(text string) (Nearness, bool)

// Nearness is how near a text is to sections.
type Nearness struct {
	// Cosine is that of the text and a section, by its slug and its place in the memory;
	// false without vectors of it.
	Cosine func(slug string, section int) (cosine float64, ok bool)
	// Kept is that of the text and a vector that the index keeps, where these are compared;
	// nil where others are.
	Kept func(vector []int8) float64
	// Mean and Deviation are those of the cosines of sections that have nothing to do with
	// each other: models differ in what a cosine says.
	Mean, Deviation float64
}

// Among a handful of memories one always stands out: a cosine is then a reason only from
// aHandful deviations above the mean on, and among enough of them from the mean on.
const (
	aHandful = 2
	enough   = 20
)

// sixth is the place that a cosine is compared with: few memories answer one question.
const sixth = 5

// units are what a cosine of one question is measured in.
type units struct {
	mean, deviation float64   // of the collection's own
	asked           spreading // of this question's
	best, sixth     float64   // the cosines at these places
	least           float64   // that may be a reason
}

func (n Nearness) units(near []best, in []int32) *units {
	u := &units{mean: n.Mean, deviation: max(n.Deviation, 1e-3)}
	var first [sixth + 1]float64 // the best, in order
	var sum, squares float64
	for i, id := range in {
		c := near[id].cosine
		sum, squares = sum+c, squares+c*c
		for k := min(i, sixth); k >= 0 && (k == i || c > first[k]); k-- {
			if k < sixth {
				first[k+1] = first[k]
			}
			first[k] = c
		}
	}
	count := float64(len(in))
	u.asked = spreading{sum / count, math.Sqrt(max(0, squares/count-sum*sum/count/count))}
	u.least = u.mean + u.deviation*max(0, aHandful-aHandful*count/enough)
	u.best, u.sixth = first[0], first[min(sixth, len(in)-1)]
	return u
}

// signs adds what a cosine says to the signs of a hit.
func (u *units) signs(v *signs, cosine float64) {
	v[signUnits] = max(-mostAsked, min((cosine-u.mean)/u.deviation, 2*mostAsked))
	v[signAsked] = max(-mostAsked, min(u.asked.z(cosine), mostAsked))
	v[signGap] = max(-mostAsked, min((cosine-u.sixth)/u.deviation, mostAsked))
}

// mostAsked bounds how far one of a handful can stand out.
const mostAsked = 6
