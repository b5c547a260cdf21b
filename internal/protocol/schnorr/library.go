//go:build libsecp256k1 && linux

package schnorr

/*
#include <stddef.h>

// These are in the objects of go-nostr, which is linked into the same program.
// They are weak, so that this package can be linked by itself, as cgo does.
typedef struct { unsigned char data[64]; } engramd_key;
typedef struct { unsigned char data[96]; } engramd_pair;
extern const void *const secp256k1_context_static __attribute__((weak));
extern void *secp256k1_context_create(unsigned int flags) __attribute__((weak));
extern int secp256k1_context_randomize(void *ctx, const unsigned char *seed) __attribute__((weak));
extern int secp256k1_keypair_create(const void *ctx, engramd_pair *out, const unsigned char *secret) __attribute__((weak));
extern int secp256k1_keypair_xonly_pub(const void *ctx, engramd_key *out, int *parity, const engramd_pair *pair) __attribute__((weak));
extern int secp256k1_xonly_pubkey_serialize(const void *ctx, unsigned char *out, const engramd_key *key) __attribute__((weak));
extern int secp256k1_schnorrsig_sign32(const void *ctx, unsigned char *sig, const unsigned char *msg, const engramd_pair *pair, const unsigned char *aux) __attribute__((weak));
extern int secp256k1_xonly_pubkey_parse(const void *ctx, engramd_key *out, const unsigned char *in) __attribute__((weak));
extern int secp256k1_schnorrsig_verify(const void *ctx, const unsigned char *sig, const unsigned char *msg, size_t size, const engramd_key *key) __attribute__((weak));

static int engramd_linked(void) {
	return &secp256k1_context_static && secp256k1_xonly_pubkey_parse && secp256k1_schnorrsig_verify && secp256k1_context_create && secp256k1_context_randomize &&
		secp256k1_keypair_create && secp256k1_keypair_xonly_pub && secp256k1_xonly_pubkey_serialize && secp256k1_schnorrsig_sign32;
}

static int engramd_parse(engramd_key *out, const unsigned char *in) {
	return secp256k1_xonly_pubkey_parse(secp256k1_context_static, out, in);
}

static int engramd_verify(const engramd_key *key, const unsigned char *msg, const unsigned char *sig) {
	return secp256k1_schnorrsig_verify(secp256k1_context_static, sig, msg, 32, key);
}

static void *engramd_context(const unsigned char *seed) {
	void *ctx = secp256k1_context_create(1); // SECP256K1_CONTEXT_NONE
	if (ctx && seed) (void)secp256k1_context_randomize(ctx, seed);
	return ctx;
}

// Names the key of a secret and signs with it. The pair, which holds the secret, is
// wiped.
static int engramd_sign(const void *ctx, unsigned char *key, unsigned char *sig, const unsigned char *secret, const unsigned char *msg, const unsigned char *aux) {
	engramd_pair pair;
	engramd_key public;
	int done = secp256k1_keypair_create(ctx, &pair, secret) && secp256k1_keypair_xonly_pub(ctx, &public, NULL, &pair) &&
		secp256k1_xonly_pubkey_serialize(ctx, key, &public) && secp256k1_schnorrsig_sign32(ctx, sig, msg, &pair, aux);
	volatile unsigned char *p = pair.data;
	for (size_t i = 0; i < sizeof pair.data; i++) p[i] = 0;
	return done;
}

#cgo noescape engramd_sign
#cgo nocallback engramd_sign
#cgo noescape engramd_parse
#cgo nocallback engramd_parse
#cgo noescape engramd_verify
#cgo nocallback engramd_verify
*/
import "C"

import (
	"crypto/rand"
	"sync"
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

// context is the library's for signing, blinded against who measures it.
var context = sync.OnceValue(func() unsafe.Pointer {
	var seed [32]byte
	rand.Read(seed[:]) // it does not fail
	return unsafe.Pointer(C.engramd_context((*C.uchar)(unsafe.Pointer(&seed))))
})

func sign(key *[32]byte, sig *[64]byte, secret, msg, aux *[32]byte) bool {
	ctx := context()
	return ctx != nil && C.engramd_sign(ctx, (*C.uchar)(unsafe.Pointer(key)), (*C.uchar)(unsafe.Pointer(sig)), (*C.uchar)(unsafe.Pointer(secret)),
		(*C.uchar)(unsafe.Pointer(msg)), (*C.uchar)(unsafe.Pointer(aux))) == 1
}
