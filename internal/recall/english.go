package recall

import "strings"

// englishStops are the words that say nothing of what a text is about.
var englishStops = setOf(`
a about above after again against all am an and any are aren't as at be because been before being
below between both but by can can't cannot could couldn't did didn't do does doesn't doing don don't
down during each else few for from further had hadn't has hasn't have haven't having he he'd he'll
he's her here here's hers herself him himself his how how's i i'd i'll i'm i've if in into is isn't
it it's its itself just let's me more most mustn't my myself no nor not now of off on once only or
other ought our ours ourselves out over own s same shan't she she'd she'll she's should shouldn't so
some such t than that that's the their theirs them themselves then there there's these they they'd
they'll they're they've this those through to too under until up very was wasn't we we'd we'll we're
we've were weren't what what's when when's where where's which while who who's whom why why's will
with won't would wouldn't you you'd you'll you're you've your yours yourself yourselves`)

// generic are the verbs and nouns by which people ask without meaning them,
// left out of a query if anything else remains.
const generic = `kind type name mention describe according feel think say said tell talk thing stuff lot specific certain recently`

// englishForms are the irregular forms and the pairs of words for one thing that
// a stemmer does not bring together: what they become, then the forms.
var englishForms = formsOf(`
be: am is are was were been being
go: goes went gone going
buy: bought
eat: ate eaten
see: saw seen
take: took taken
make: made
get: got gotten
give: gave given
find: found
write: wrote written
begin: began begun
run: ran
swim: swam swum
sing: sang sung
drive: drove driven
ride: rode ridden
fly: flew flown
grow: grew grown
know: knew known
draw: drew drawn
throw: threw thrown
speak: spoke spoken
break: broke broken
choose: chose chosen
wake: woke woken
win: won
lose: lost
teach: taught
catch: caught
bring: brought
think: thought
fight: fought
seek: sought
feel: felt
keep: kept
sleep: slept
leave: left
meet: met
lead: led
feed: fed
build: built
send: sent
spend: spent
lend: lent
tell: told
sell: sold
hold: held
stand: stood
understand: understood
hear: heard
sit: sat
become: became
come: came
fall: fell fallen
wear: wore worn
tear: tore torn
bear: bore born borne
shake: shook shaken
steal: stole stolen
freeze: froze frozen
hide: hid hidden
bite: bit bitten
rise: rose risen
forget: forgot forgotten
pay: paid
say: said
lay: laid
mean: meant
learn: learnt
dream: dreamt
burn: burnt
light: lit
shoot: shot
stick: stuck
strike: struck
hang: hung
dig: dug
spin: spun
sink: sank sunk
drink: drank drunk
ring: rang rung
shrink: shrank
spring: sprang
weave: wove woven
forgive: forgave forgiven
deal: dealt
bend: bent
lie: lay lain
child: children
man: men
woman: women
person: people
foot: feet
tooth: teeth
mouse: mice
wife: wives
life: lives
knife: knives
leaf: leaves
shelf: shelves
good: better best
bad: worse worst
mom: mum mother mommy
dad: father daddy
kid: child
photo: photograph picture pic
movie: film
tv: television
bike: bicycle
phone: telephone
grandma: grandmother granny
grandpa: grandfather
uni: university college
doc: doctor
`)

// setOf makes a set of the words of a text.
func setOf(text string) map[string]bool {
	set := make(map[string]bool)
	for _, w := range strings.Fields(text) {
		set[w] = true
	}
	return set
}

// formsOf reads lines of a word and, after a colon, the forms that become it.
func formsOf(text string) map[string]string {
	forms := make(map[string]string)
	for line := range strings.Lines(text) {
		word, all, _ := strings.Cut(line, ":")
		for _, form := range strings.Fields(all) {
			forms[form] = word
		}
	}
	return forms
}
