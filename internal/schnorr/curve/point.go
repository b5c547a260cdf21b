package curve

// Point is a point of y^2 = x^3 + 7, and not the one at infinity.
type Point struct{ x, y field }

// Generator is what public keys are multiples of (SEC 2, 2.4.1).
func Generator() Point {
	return Point{
		field{0x59f2815b16f81798, 0x029bfcdb2dce28d9, 0x55a06295ce870b07, 0x79be667ef9dcbbac},
		field{0x9c47d08ffb10d4b8, 0xfd17b448a6855419, 0x5da4fbfc0e1108a8, 0x483ada7726a3c465},
	}
}

// Lift returns the point with an even y whose x are these 32 bytes, the highest
// first, and false if there is none (BIP-340, lift_x).
func Lift(x *[32]byte) (Point, bool) {
	var p Point
	if !p.x.set(x) {
		return Point{}, false
	}
	var square field
	square.square(&p.x)
	square.mul(&square, &p.x)
	square.add(&square, &field{7})
	if !p.y.root(&square) {
		return Point{}, false
	}
	p.y.normal()
	if p.y[0]&1 == 1 {
		p.y.sub(&field{}, &p.y)
	}
	return p, true
}

// sum is a point in Jacobian form: (x / z^2, y / z^3), or the one at infinity if
// z is 0. The zero sum is at infinity.
type sum struct{ x, y, z field }

func (s *sum) infinite() bool { return s.z.zero() }

// double adds s to itself. No point of this curve has y = 0, and infinity stays
// what it is.
func (s *sum) double() {
	var a, b, c, d, t field
	a.square(&s.x)
	b.square(&s.y)
	c.square(&b)
	d.mul(&s.x, &b)
	d.double(&d)
	d.double(&d)  // 4 x y^2
	t.double(&a)  //
	a.add(&a, &t) // 3 x^2
	s.z.mul(&s.z, &s.y)
	s.z.double(&s.z) // 2 y z
	t.double(&d)
	s.x.square(&a)
	s.x.sub(&s.x, &t) // 9 x^4 - 8 x y^2
	d.sub(&d, &s.x)
	s.y.mul(&a, &d)
	c.double(&c)
	c.double(&c)
	c.double(&c)
	s.y.sub(&s.y, &c)
}

// addPoint adds p, or -p. The points may be equal, opposite or infinite: who
// chooses points could else make a sum that is none vanish.
func (s *sum) addPoint(p *Point, negative bool) {
	y := p.y
	if negative {
		y.sub(&field{}, &y)
	}
	if s.infinite() {
		*s = sum{p.x, y, field{1}}
		return
	}
	var zz, u, v field
	zz.square(&s.z)
	u.mul(&p.x, &zz)
	v.mul(&y, &zz)
	v.mul(&v, &s.z)
	s.finish(&u, &v, nil)
}

// add adds o, whatever both are.
func (s *sum) add(o *sum) {
	switch {
	case o.infinite():
		return
	case s.infinite():
		*s = *o
		return
	}
	var zz, oo, u, v field
	zz.square(&s.z)
	oo.square(&o.z)
	u.mul(&o.x, &zz)
	v.mul(&o.y, &zz)
	v.mul(&v, &s.z)
	s.x.mul(&s.x, &oo)
	s.y.mul(&s.y, &oo)
	s.y.mul(&s.y, &o.z)
	s.finish(&u, &v, &o.z)
}

// finish adds the point (u, v) to s, both brought to the same denominator, which
// is that of s times z.
func (s *sum) finish(u, v, z *field) {
	var h, r field
	h.sub(u, &s.x)
	r.sub(v, &s.y)
	if z != nil {
		s.z.mul(&s.z, z)
	}
	if h.zero() {
		if !r.zero() {
			*s = sum{} // opposite
			return
		}
		s.double() // as x, y and z are of one form now
		return
	}
	var hh, hhh field
	hh.square(&h)
	hhh.mul(&hh, &h)
	hh.mul(&hh, &s.x)
	s.z.mul(&s.z, &h)
	s.x.square(&r)
	s.x.sub(&s.x, &hhh)
	s.x.sub(&s.x, &hh)
	s.x.sub(&s.x, &hh)
	hh.sub(&hh, &s.x)
	hhh.mul(&hhh, &s.y)
	s.y.mul(&r, &hh)
	s.y.sub(&s.y, &hhh)
}
