package wire

import (
	"encoding/hex"
	"strconv"
	"strings"
	"unicode/utf8"
)

// The functions below append one relay message each (NIP-01, NIP-42, NIP-45,
// NIP-67, NIP-77). What they are given by clients or by errors is escaped, and
// made valid UTF-8, because a text message of a websocket must be.

// AppendEventFrame appends ["EVENT", subID, event], where event is JSON as
// AppendEvent writes it.
func AppendEventFrame(dst []byte, subID string, eventJSON []byte) []byte {
	dst = append(dst, `["EVENT",`...)
	dst = appendText(dst, subID)
	dst = append(dst, ',')
	dst = append(dst, eventJSON...)
	return append(dst, ']')
}

// AppendOK appends ["OK", eventID, ok, message].
func AppendOK(dst []byte, eventID string, ok bool, message string) []byte {
	dst = append(dst, `["OK",`...)
	dst = appendText(dst, eventID)
	dst = append(dst, ',')
	dst = strconv.AppendBool(dst, ok)
	dst = append(dst, ',')
	dst = appendText(dst, message)
	return append(dst, ']')
}

// AppendEOSE appends ["EOSE", subID], with the hints as a third element if
// there are any (NIP-67: "finish" or "more").
func AppendEOSE(dst []byte, subID string, hints ...string) []byte {
	dst = append(dst, `["EOSE",`...)
	dst = appendText(dst, subID)
	for i, hint := range hints {
		if i == 0 {
			dst = append(dst, ",["...)
		} else {
			dst = append(dst, ',')
		}
		dst = appendText(dst, hint)
	}
	if len(hints) > 0 {
		dst = append(dst, ']')
	}
	return append(dst, ']')
}

// AppendClosed appends ["CLOSED", subID, message].
func AppendClosed(dst []byte, subID, message string) []byte {
	return appendTexts(dst, `["CLOSED",`, subID, message)
}

// AppendNegErr appends ["NEG-ERR", subID, message].
func AppendNegErr(dst []byte, subID, message string) []byte {
	return appendTexts(dst, `["NEG-ERR",`, subID, message)
}

// AppendNegMsg appends ["NEG-MSG", subID, message], the message as hex.
func AppendNegMsg(dst []byte, subID string, message []byte) []byte {
	dst = append(dst, `["NEG-MSG",`...)
	dst = appendText(dst, subID)
	dst = append(dst, ',', '"')
	dst = hex.AppendEncode(dst, message)
	return append(dst, '"', ']')
}

// AppendNotice appends ["NOTICE", message].
func AppendNotice(dst []byte, message string) []byte { return appendTexts(dst, `["NOTICE",`, message) }

// AppendCount appends ["COUNT", subID, {"count": n}].
func AppendCount(dst []byte, subID string, n int64) []byte {
	dst = append(dst, `["COUNT",`...)
	dst = appendText(dst, subID)
	dst = append(dst, `,{"count":`...)
	dst = strconv.AppendInt(dst, n, 10)
	return append(dst, "}]"...)
}

// AppendAuthChallenge appends ["AUTH", challenge].
func AppendAuthChallenge(dst []byte, challenge string) []byte {
	return appendTexts(dst, `["AUTH",`, challenge)
}

// appendTexts appends a message that begins so and holds nothing but texts.
func appendTexts(dst []byte, begin string, texts ...string) []byte {
	dst = append(dst, begin...)
	for _, text := range texts {
		dst = append(appendText(dst, text), ',')
	}
	dst[len(dst)-1] = ']'
	return dst
}

func appendText(dst []byte, s string) []byte {
	if !utf8.ValidString(s) { // what is valid is seen faster so
		s = strings.ToValidUTF8(s, "\uFFFD")
	}
	return appendString(dst, s)
}
