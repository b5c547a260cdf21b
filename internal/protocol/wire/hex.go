package wire

// notHex marks bytes that are no lower-case hex digit.
const notHex = 0x80

// hexValues is the value of each lower-case hex digit, notHex for other bytes.
// A branch for each of an event's 256 random digits would be guessed wrongly
// half of the time, which costs more than all the rest of reading them.
var hexValues = func() (values [256]byte) {
	for i := range values {
		switch c := byte(i); {
		case c >= '0' && c <= '9':
			values[i] = c - '0'
		case c >= 'a' && c <= 'f':
			values[i] = c - 'a' + 10
		default:
			values[i] = notHex
		}
	}
	return values
}()

// lowerHex reports whether s is exactly n lower-case hex digits.
func lowerHex(s string, n int) bool {
	if len(s) != n {
		return false
	}
	var seen byte
	for i := range len(s) {
		seen |= hexValues[s[i]]
	}
	return seen < notHex
}

// decodeHex decodes s, which must be exactly as many lower-case hex digits as
// fill dst.
func decodeHex(dst []byte, s string) bool {
	if len(s) != 2*len(dst) {
		return false
	}
	var seen byte
	for i := range dst {
		high, low := hexValues[s[2*i]], hexValues[s[2*i+1]]
		seen |= high | low
		dst[i] = high<<4 | low
	}
	return seen < notHex
}
