// Package retention says how long which events are kept (retention.rules), and
// which kinds neither a rule nor a deletion by the operator touches unless it
// names them. It is pure: what is kept is the store's.
package retention

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/nbd-wtf/go-nostr"

	"engramd/nips/kind"
	"engramd/nips/nipae"
	"engramd/nips/niptemp"
)

// MaxKind is the highest kind there is.
const MaxKind = 65535

// MustBeNamed reports whether a kind is touched only by what names it, because
// others rest on it: not by a range, by "all kinds", or by a filter without
// kinds.
func MustBeNamed(number int) bool {
	return slices.Contains([]int{nostr.KindDeletion, kind.Vanish, niptemp.KindEntry, niptemp.KindState, nipae.Kind}, number)
}

// Range is an inclusive range of kinds.
type Range struct{ From, To int }

// Rule bounds the events of its kinds by age, by number, or by both.
type Rule struct {
	// Kinds are sorted and do not overlap. Kinds that must be named are among
	// them if they were named, ephemeral ones, which are never stored, are not.
	Kinds []Range
	Age   time.Duration // since created_at; 0: no bound
	Count int64         // of all its kinds together, the newest; 0: no bound
}

// Covers reports whether the rule is about a kind.
func (r Rule) Covers(kind int) bool {
	return slices.ContainsFunc(r.Kinds, func(k Range) bool { return k.From <= kind && kind <= k.To })
}

// Bounds of what is read.
const (
	maxRules = 100
	minAge   = time.Hour
	maxAge   = 100 * 365 * 24 * time.Hour
	maxCount = 1_000_000_000_000
)

// Parse reads rules, one text each: KINDS AGE, KINDS max NUMBER, or KINDS AGE
// max NUMBER. KINDS are numbers and ranges by commas ("1,7,20-25"), or * for
// all; AGE is a number of hours, days, weeks or years ("90d"). An error names
// the text.
func Parse(texts []string) ([]Rule, error) {
	if len(texts) > maxRules {
		return nil, fmt.Errorf("there are %d rules, and %d may be", len(texts), maxRules)
	}
	var rules []Rule
	for _, text := range texts {
		rule, err := parseRule(text)
		if err != nil {
			return nil, fmt.Errorf("%q: %w", text, err)
		}
		if len(rule.Kinds) > 0 {
			rules = append(rules, rule)
		}
	}
	return rules, nil
}

var errForm = errors.New(`want KINDS AGE, KINDS max NUMBER, or both, such as "1,7 90d", "1000-9999 max 10000", "30023 1y max 500"`)

func parseRule(text string) (rule Rule, err error) {
	words := strings.Fields(text)
	if len(words) < 2 {
		return rule, errForm
	}
	if rule.Kinds, err = parseKinds(words[0]); err != nil {
		return rule, err
	}
	rest := words[1:]
	if rest[0] != "max" {
		if rule.Age, err = parseAge(rest[0]); err != nil {
			return rule, err
		}
		rest = rest[1:]
	}
	if len(rest) == 0 {
		return rule, nil
	}
	if len(rest) != 2 || rest[0] != "max" {
		return rule, errForm
	}
	rule.Count, err = strconv.ParseInt(rest[1], 10, 64)
	if err != nil || rule.Count < 1 || rule.Count > maxCount || strconv.FormatInt(rule.Count, 10) != rest[1] {
		return rule, fmt.Errorf("max %s: want a number of events from 1 on; what is not to be stored at all stands in write.ban_kinds", rest[1])
	}
	return rule, nil
}

var ageForm = regexp.MustCompile(`^([0-9]{1,7})([hdwy])$`)

func parseAge(text string) (time.Duration, error) {
	m := ageForm.FindStringSubmatch(text)
	if m == nil {
		return 0, fmt.Errorf("%q is no age: want a number of hours, days, weeks or years, such as 12h, 90d, 6w, 2y", text)
	}
	n, err := strconv.Atoi(m[1])
	if err != nil {
		return 0, err
	}
	unit := map[string]time.Duration{"h": time.Hour, "d": 24 * time.Hour, "w": 7 * 24 * time.Hour, "y": 365 * 24 * time.Hour}[m[2]]
	if most := int(maxAge / unit); n > most || time.Duration(n)*unit < minAge {
		return 0, fmt.Errorf("an age is from 1h to 100y, and %s is not; what is not to be stored at all stands in write.ban_kinds", text)
	}
	return time.Duration(n) * unit, nil
}

// The kinds that are delivered and never stored.
var ephemeral = Range{20000, 29999}

// parseKinds reads kinds and ranges. What must be named is taken out of ranges.
func parseKinds(text string) ([]Range, error) {
	var out []Range
	for part := range strings.SplitSeq(text, ",") {
		if part == "*" {
			part = fmt.Sprintf("0-%d", MaxKind)
		}
		from, to, ranged := strings.Cut(part, "-")
		if !ranged {
			to = from
		}
		r := Range{kindOf(from), kindOf(to)}
		if r.From < 0 || r.To < r.From {
			return nil, fmt.Errorf("%q is neither a kind from 0 to %d, nor a range such as 1000-9999, nor *", part, MaxKind)
		}
		if ranged {
			out = append(out, unnamed(r)...)
		} else if r.From < ephemeral.From || r.From > ephemeral.To {
			out = append(out, r)
		}
	}
	return united(out), nil
}

// kindOf returns a kind in plain digits, -1 for anything else.
func kindOf(text string) int {
	n, err := strconv.Atoi(text)
	if err != nil || n < 0 || n > MaxKind || strconv.Itoa(n) != text {
		return -1
	}
	return n
}

// unnamed returns a range without the kinds that must be named and without
// ephemeral ones.
func unnamed(r Range) (out []Range) {
	gaps := []Range{ephemeral}
	for kind := range MaxKind + 1 {
		if MustBeNamed(kind) {
			gaps = append(gaps, Range{kind, kind})
		}
	}
	slices.SortFunc(gaps, func(a, b Range) int { return a.From - b.From })
	for _, gap := range gaps {
		if before := min(r.To, gap.From-1); before >= r.From {
			out = append(out, Range{r.From, before})
		}
		r.From = max(r.From, gap.To+1)
	}
	if r.From <= r.To {
		out = append(out, r)
	}
	return out
}

// united sorts ranges and joins those that touch.
func united(ranges []Range) (out []Range) {
	slices.SortFunc(ranges, func(a, b Range) int { return a.From - b.From })
	for _, r := range ranges {
		if last := len(out) - 1; last >= 0 && r.From <= out[last].To+1 {
			out[last].To = max(out[last].To, r.To)
			continue
		}
		out = append(out, r)
	}
	return out
}
