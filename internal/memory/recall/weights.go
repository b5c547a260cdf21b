package recall

// The recipe. Each weight was chosen on the development half of LoCoMo;
// docs/benchmarks.md says what each of them brings.
const (
	k1        = 1.0 // how soon a term that is repeated counts no more
	bSection  = 0.4 // how much a long section is held back
	bGroup    = 0.5 // the same of a whole memory or session
	wPrevious = 0.15
	wAnswer   = 0.8  // in place of it where the previous section is a question
	wEarlier  = 0.25 // two sections before
	wNext     = 0.3
	wGroup    = 0.7
	wWho      = 4
	wName     = 0.3 // of a person's name, as a word
	wCommon   = 0.5 // of a word by which people ask for anything
	wDate     = 8
	wTimely   = 2   // asked for a time, and the section has one
	wAsked    = 1.5 // off, of a section that asks itself

	fDerived  = 0.95
	fExternal = 0.8
	fEmotion  = 1.4
	resonance = 0.6 // the least cosine of emotions that resonate

	wMeaning  = 0.4 // of z(cosine), beside z(score)
	fused     = 200 // the best of each that are compared
	wRecency  = 0.1 // of a standard deviation
	wSalience = 0.1
	wLinked   = 0.3
	wTypo     = 0.6 // of a term that is in no text, by one that is nearly it
)

// Weights are the recipe as a value, so that what each brings can be measured.
type Weights struct {
	K1, BSection, BGroup                     float64
	Previous, Answer, Earlier, Next, Group   float64
	Who, Name, Common, Date, Timely, Asked   float64
	Derived, External, Emotion               float64
	Meaning, Recency, Salience, Linked, Typo float64
}

// Recipe returns the weights that are in use.
func Recipe() Weights {
	return Weights{
		K1: k1, BSection: bSection, BGroup: bGroup,
		Previous: wPrevious, Answer: wAnswer, Earlier: wEarlier, Next: wNext, Group: wGroup,
		Who: wWho, Name: wName, Common: wCommon, Date: wDate, Timely: wTimely, Asked: wAsked,
		Derived: fDerived, External: fExternal, Emotion: fEmotion,
		Meaning: wMeaning, Recency: wRecency, Salience: wSalience, Linked: wLinked, Typo: wTypo,
	}
}
