package gate

import (
	"fmt"
	"strings"

	"engramd/nips/nip01"
)

// RuleWildcard is the Rule of decisions about filters without kinds.
const RuleWildcard = "wildcard"

// RulePrivate is the Rule of decisions that were made without looking at the
// filter: the relay shows nothing to nobody.
const RulePrivate = "private"

// RefuseNobody returns the refusal of who has proved nothing, where that is
// needed to read at all.
func RefuseNobody() *Refusal {
	return newRefusal(nip01.PrefixAuthRequired, RulePrivate, "this relay is read only by who has proved a key; authenticate first")
}

// Refusal is the answer to a filter that the first check does not let through.
// It is made of the filter and the reader alone and says nothing about what is
// stored: "auth-required" or "restricted", and what would work. For clients it
// is a nip01.Refusal like any other; the rule is for metrics.
type Refusal struct {
	nip01.Refusal
	Rule string // metric label: a Class's String, or RuleWildcard
}

// Unwrap lets errors.As find what a client is told.
func (r *Refusal) Unwrap() error { return &r.Refusal }

func newRefusal(prefix, rule, text string) *Refusal {
	return &Refusal{nip01.Refusal{Prefix: prefix, Text: text}, rule}
}

// refuse makes the refusal of a filter that names a kind of the class.
func refuse(r Reader, kind int, class Class, ways rights) *Refusal {
	text := fmt.Sprintf("a filter for kind %d needs %s", kind, waysText(class, ways))
	return refusal(r, class.String(), text)
}

// refuseWildcard makes the refusal of a filter without kinds.
func refuseWildcard(r Reader) *Refusal {
	text := "a filter without kinds needs " + waysText(Engram, byID|byAuthor|byTag)
	return refusal(r, RuleWildcard, text+"; or let it name the kinds")
}

func refusal(r Reader, rule, text string) *Refusal {
	if r.Empty() {
		return newRefusal(nip01.PrefixAuthRequired, rule, text+"; authenticate first")
	}
	return newRefusal(nip01.PrefixRestricted, rule, text)
}

// waysText lists what satisfies a rule: "ids, or authors or #p naming only
// keys you have proved".
func waysText(class Class, ways rights) string {
	var named, own []string
	if ways&byID != 0 {
		named = append(named, "ids")
	}
	if ways&byD != 0 {
		if class == Contract {
			named = append(named, "#d with the contract's id")
		} else {
			named = append(named, "#d")
		}
	}
	if ways&byAuthor != 0 {
		own = append(own, "authors")
	}
	if ways&byTag != 0 {
		own = append(own, "#p")
	}
	text := strings.Join(named, ", ")
	if len(own) > 0 {
		if text != "" {
			text += ", or "
		}
		text += strings.Join(own, " or ") + " naming only keys you have proved"
	}
	return text
}
