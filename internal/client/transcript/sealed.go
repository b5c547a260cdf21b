package transcript

import (
	"crypto/sha256"
	"encoding/hex"

	"engramd/internal/client"
)

// A signature of a sealed entry covers its payload. What lies in it is the word of
// who opened it, until the message keys prove it, and stands under a heading of its
// own, apart from what is signed as it stands.

// payloadHolds reports whether an entry is sealed, and its payload signed.
func payloadHolds(e client.ContractEntry) bool {
	return e.Sealed && (e.Signature == client.SignatureHolds || e.ByRelay && e.Event != nil)
}

// sealed says of a sealed entry what everybody can check of it.
func (w *writer) sealed(n int, e client.ContractEntry) {
	if e.Event != nil {
		sum := sha256.Sum256([]byte(e.Event.Content))
		w.line("- Encrypted between the parties: a payload of %d bytes, SHA-256 %s", len(e.Event.Content), code(hex.EncodeToString(sum[:])))
	} else {
		w.line("- Encrypted between the parties; its payload was not seen")
	}
	switch {
	case e.Unreadable:
		w.line("- The exporter's key does not open it.\n")
	case w.o.Closed:
		w.line("- What it says was left out.\n")
	default:
		w.line("- What it says stands under \"Sealed texts\", as number %d.\n", n)
	}
}

// sealedTexts are what sealed entries say, by the word of who opened them.
func (w *writer) sealedTexts(records []record) {
	begun := false
	for i, r := range records {
		if r.entry == nil || !r.entry.Sealed || r.entry.Unreadable || w.o.Closed {
			continue
		}
		if !begun {
			begun = true
			w.line("## Sealed texts\n")
			w.line("**No signature covers these texts as they stand.** Encrypted payloads were signed, and this is what the exporter says is in them. "+
				"%s makes the proof of one.\n", code("engramctl contract disclose"))
		}
		w.line("### Text of %d: %s\n", i+1, code(r.entry.Type))
		w.author(r.entry.Author)
		if r.entry.ByRelay {
			w.line("- Opened by the relay, which keeps the exporter's key: the relay's word")
		} else {
			w.line("- Opened with the exporter's key: the exporter's word")
		}
		w.says(*r.entry)
	}
}
