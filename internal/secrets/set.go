package secrets

// set is a set of bytes that values are made of.
type set uint8

const (
	digit    set = iota // 0-9
	hex                 // 0-9a-fA-F
	upper               // A-Z0-9
	bech                // bech32, in either case: a-z0-9 without 1bio
	alnum               // A-Za-z0-9
	word                // alnum and _ -
	dotted              // word and . = ~
	base64              // alnum and + / =
	url                 // what a URI is written with
	setCount = iota
)

// has reports whether a byte is in the set.
func (s set) has(c byte) bool {
	isDigit := c >= '0' && c <= '9'
	isUpper := c >= 'A' && c <= 'Z'
	lower := c | 0x20
	isLetter := lower >= 'a' && lower <= 'z'
	switch s {
	case digit:
		return isDigit
	case hex:
		return isDigit || isLetter && lower <= 'f'
	case upper:
		return isDigit || isUpper
	case bech:
		return isDigit && c != '1' || isLetter && lower != 'b' && lower != 'i' && lower != 'o'
	case word:
		return isDigit || isLetter || c == '_' || c == '-'
	case dotted:
		return isDigit || isLetter || c == '_' || c == '-' || c == '.' || c == '=' || c == '~'
	case base64:
		return isDigit || isLetter || c == '+' || c == '/' || c == '='
	case url:
		return c > ' ' && c < 0x7f && c != '"' && c != '\'' && c != '<' && c != '>' && c != '`'
	}
	return isDigit || isLetter
}
