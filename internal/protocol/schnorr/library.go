//go:build libsecp256k1 && linux

package schnorr

/*
#include <stddef.h>

// These are in the objects of go-nostr, which is linked into the same program.
// They are weak, so that this package can be linked by itself, as cgo does.
typedef struct { unsigned char data[64]; } engramd_key;
extern const void *const secp256k1_context_static __attribute__((weak));
extern int secp256k1_xonly_pubkey_parse(const void *ctx, engramd_key *out, const unsigned char *in) __attribute__((weak));
extern int secp256k1_schnorrsig_verify(const void *ctx, const unsigned char *sig, const unsigned char *msg, size_t size, const engramd_key *key) __attribute__((weak));

static int engramd_linked(void) {
	return &secp256k1_context_static && secp256k1_xonly_pubkey_parse && secp256k1_schnorrsig_verify;
}

static int engramd_parse(engramd_key *out, const unsigned char *in) {
	return secp256k1_xonly_pubkey_parse(secp256k1_context_static, out, in);
}

static int engramd_verify(const engramd_key *key, const unsigned char *msg, const unsigned char *sig) {
	return secp256k1_schnorrsig_verify(secp256k1_context_static, sig, msg, 32, key);
}

#cgo noescape engramd_parse
#cgo nocallback engramd_parse
#cgo noescape engramd_verify
#cgo nocallback engramd_verify
*/
import "C"

import (
	"unsafe"

	_ "github.com/nbd-wtf/go-nostr" // brings libsecp256k1
)

// parsed is libsecp256k1's secp256k1_xonly_pubkey.
type parsed struct{ key C.engramd_key }

// linked reports whether the library is in the program.
func linked() bool { return C.engramd_linked() != 0 }

func (p *parsed) parse(key *[32]byte) bool {
	return C.engramd_parse(&p.key, (*C.uchar)(unsafe.Pointer(key))) == 1
}

func (p *parsed) verify(msg *[32]byte, sig *[64]byte) bool {
	return C.engramd_verify(&p.key, (*C.uchar)(unsafe.Pointer(msg)), (*C.uchar)(unsafe.Pointer(sig))) == 1
}
