package niptemp

import "github.com/nbd-wtf/go-nostr"

// findTag returns how many tags have the name, values or not, and the value of
// the last one, empty if it has none.
func findTag(tags nostr.Tags, name string) (value string, n int) {
	for _, tag := range tags {
		if len(tag) == 0 || tag[0] != name {
			continue
		}
		n++
		value = ""
		if len(tag) > 1 {
			value = tag[1]
		}
	}
	return value, n
}

// oneTag returns the value of the one tag with the name.
func oneTag(tags nostr.Tags, name string) (string, error) {
	value, n := findTag(tags, name)
	if n != 1 {
		return "", invalid("it must have exactly one %s tag, not %d", name, n)
	}
	return value, nil
}

// contractID returns the value of the d tag: 1–128 bytes of printable ASCII
// without spaces.
func contractID(ev *nostr.Event) (string, error) {
	id, err := oneTag(ev.Tags, "d")
	if err != nil {
		return "", err
	}
	if len(id) == 0 || len(id) > maxContractID {
		return "", invalid("a contract id must have 1 to %d bytes", maxContractID)
	}
	for i := 0; i < len(id); i++ {
		if id[i] <= ' ' || id[i] > '~' {
			return "", invalid("a contract id must be printable ASCII without spaces")
		}
	}
	return id, nil
}

// counterparty returns the value of the p tag: 64 lower-case hex digits.
func counterparty(ev *nostr.Event) (string, error) {
	key, err := oneTag(ev.Tags, "p")
	if err != nil {
		return "", err
	}
	if !nostr.IsValid32ByteHex(key) {
		return "", invalid("its p tag must hold 64 lower-case hex digits")
	}
	return key, nil
}

// namedKeys returns the values of one p tag, or of two, in their order.
func namedKeys(ev *nostr.Event) (first, second string, err error) {
	for _, tag := range ev.Tags {
		switch {
		case len(tag) == 0 || tag[0] != "p":
			continue
		case len(tag) < 2 || !nostr.IsValid32ByteHex(tag[1]):
			return "", "", invalid("its p tag must hold 64 lower-case hex digits")
		case first == "":
			first = tag[1]
		case second == "":
			second = tag[1]
		default:
			return "", "", invalid("it must have one p tag, or two for a decision, not more")
		}
	}
	if first == "" {
		return "", "", invalid("it must have exactly one p tag, not 0")
	}
	return first, second, nil
}
