package curve

// Term is a multiple of a point. The digits of the factor are base 256, the
// lowest first, and a digit d stands for d - 128, so that a factor of n digits
// is their number less Offset(n).
type Term struct {
	Point  Point
	Digits []byte
}

// Zero reports whether the terms add up to the point at infinity. It takes the
// digits of one place after the other, throws the points with the same digit
// into one bucket, and adds each bucket up as often as its digit says (Pippenger).
func Zero(terms []Term) bool {
	places := 0
	for i := range terms {
		places = max(places, len(terms[i].Digits))
	}
	var total sum
	for place := places - 1; place >= 0; place-- {
		for range 8 {
			total.double()
		}
		column := column(terms, place)
		total.add(&column)
	}
	return total.infinite()
}

// column adds up what the digits of one place say.
func column(terms []Term, place int) sum {
	var buckets [129]sum
	for i := range terms {
		t := &terms[i]
		if place >= len(t.Digits) {
			continue
		}
		if d := int(t.Digits[place]) - 128; d > 0 {
			buckets[d].addPoint(&t.Point, false)
		} else if d < 0 {
			buckets[-d].addPoint(&t.Point, true)
		}
	}
	var running, all sum // running is in all as often as its highest digit says
	for d := len(buckets) - 1; d > 0; d-- {
		running.add(&buckets[d])
		all.add(&running)
	}
	return all
}
