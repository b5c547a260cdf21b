// Package wire is the border between bytes of the network and values of the
// relay: strict JSON in (events, filters, client frames of NIP-01, NIP-42 and
// NIP-45), canonical JSON out (stored events and the relay's answers), and the
// check of id and signature.
//
// The parser is written by hand for two reasons. It refuses what lenient
// decoders repair or overlook: duplicate member names, null, upper-case hex,
// fractions, lone surrogates, invalid UTF-8, misspelt filter keys. And it runs
// for every frame, so it makes one copy of the frame and cuts every string
// that holds no escape out of it.
//
// Verify stands before libsecp256k1, which must never see a wrong length. The
// id of a stored event is always at the same offset of its JSON.
//
// The package keeps no state and does no I/O. Its error texts carry no NIP-01
// prefix ("invalid: …"): the caller knows which answer they end up in.
package wire
