package vault

import (
	"bytes"
	"crypto/hkdf"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"sync"
	"sync/atomic"

	"golang.org/x/crypto/chacha20poly1305"
)

// Sizes in bytes.
const (
	KeySize   = 32 // of a master key
	CheckSize = 16 // of a check value
	markSize  = 4  // of the part of a sealed value that names its key
	header    = 1 + markSize
	// Overhead is how much longer a sealed value is than its plaintext.
	Overhead = header + chacha20poly1305.NonceSizeX + chacha20poly1305.Overhead
)

// version is the first byte of a sealed value.
const version = 1

var (
	// ErrOff means that there is no master key, because the operator wants
	// none. Errors that wrap it say how to change that.
	ErrOff = errors.New("sealing is off")
	// ErrSealed means that a value does not open: it was changed, cut, moved
	// from another row, or was never sealed.
	ErrSealed = errors.New("a sealed value does not open")
	// ErrOtherKey means that something was sealed with another master key.
	ErrOtherKey = errors.New("sealed with another master key")
)

// Vault seals and opens values. Make one with Open or New; the zero Vault is
// off. It hides its keys in closures, out of reach of fmt, encoders and
// reflection. Its methods may be called by several goroutines.
type Vault struct {
	why    string    // it is off
	source string    // where the master key came from, for people
	path   string    // of the key file; "" where there is none
	random io.Reader // of nonces and keys
	keys   atomic.Pointer[keys]
	// sealing is read-locked from before a value is sealed until it is in the
	// database, and locked while the key changes.
	sealing sync.RWMutex
}

// keys holds the master key in use, and the former one if it has changed since
// the start: a value that was read from the database before the change may be
// opened after it.
type keys struct {
	now, before *key
}

// key holds what is derived from a master key.
type key struct {
	check  [CheckSize]byte
	seal   func(plain, row []byte) ([]byte, error)
	open   func(sealed, row []byte) ([]byte, error)
	derive func(name string) ([]byte, error)
}

// mark returns the bytes by which a sealed value names its key.
func (k *key) mark() []byte { return k.check[:markSize] }

// New returns a Vault for a master key of KeySize bytes, which it does not
// keep. random is the source of nonces; nil is crypto/rand.
func New(master []byte, random io.Reader) (*Vault, error) {
	if random == nil {
		random = rand.Reader
	}
	k, err := newKey(master, random)
	if err != nil {
		return nil, err
	}
	v := &Vault{random: random}
	v.keys.Store(&keys{now: k})
	return v, nil
}

func newKey(master []byte, random io.Reader) (*key, error) {
	if len(master) != KeySize || bytes.Count(master, master[:1]) == KeySize {
		return nil, ErrKey
	}
	prk, err := hkdf.Extract(sha256.New, master, nil)
	if err != nil {
		return nil, fmt.Errorf("derive from the master key: %w", err)
	}
	k := &key{derive: func(name string) ([]byte, error) {
		return hkdf.Expand(sha256.New, prk, "engramd contracts v1 "+name, 32)
	}}
	check, err := k.derive("check")
	if err != nil {
		return nil, fmt.Errorf("derive from the master key: %w", err)
	}
	k.check = [CheckSize]byte(check[:CheckSize])
	sealing, err := k.derive("seal")
	if err != nil {
		return nil, fmt.Errorf("derive from the master key: %w", err)
	}
	aead, err := chacha20poly1305.NewX(sealing)
	if err != nil {
		return nil, fmt.Errorf("make the cipher: %w", err)
	}
	k.seal = func(plain, row []byte) ([]byte, error) {
		out := append(append(make([]byte, 0, len(plain)+Overhead), version), k.mark()...)
		nonce := out[header : header+aead.NonceSize()]
		if _, err := io.ReadFull(random, nonce); err != nil {
			return nil, fmt.Errorf("make a nonce: %w", err)
		}
		return aead.Seal(out[:header+len(nonce)], nonce, plain, associated(out[:header], row)), nil
	}
	k.open = func(sealed, row []byte) ([]byte, error) {
		nonce, body := sealed[header:header+aead.NonceSize()], sealed[header+aead.NonceSize():]
		plain, err := aead.Open(nil, nonce, body, associated(sealed[:header], row))
		if err != nil {
			return nil, ErrSealed
		}
		return plain, nil
	}
	return k, nil
}

// associated returns the associated data of a sealed value.
func associated(head, row []byte) []byte { return append(bytes.Clone(head), row...) }

// Off returns a vault without a key: sealing and opening fail with ErrOff and
// the reason.
func Off(why string) *Vault { return &Vault{why: why} }

// On returns nil if there is a key; else an error that wraps ErrOff and gives
// the reason.
func (v *Vault) On() error {
	if v == nil || v.keys.Load() == nil {
		if v == nil || v.why == "" {
			return ErrOff
		}
		return fmt.Errorf("%w: %s", ErrOff, v.why)
	}
	return nil
}

// Hold keeps the master key from changing until release is called. Callers hold
// it until the value that they sealed is in the database, which seals
// everything anew when the key changes.
func (v *Vault) Hold() (release func()) {
	v.sealing.RLock()
	return v.sealing.RUnlock
}

// Seal seals a plaintext for the one row that it belongs to. See Hold.
func (v *Vault) Seal(plain, row []byte) ([]byte, error) {
	if err := v.On(); err != nil {
		return nil, err
	}
	return v.keys.Load().now.seal(plain, row)
}

// Open returns the plaintext of a value that was sealed for this row. The error
// is ErrSealed, ErrOtherKey or ErrOff; it holds nothing of the value.
func (v *Vault) Open(sealed, row []byte) ([]byte, error) {
	if err := v.On(); err != nil {
		return nil, err
	}
	if len(sealed) < Overhead || sealed[0] != version {
		return nil, ErrSealed
	}
	held := v.keys.Load()
	for _, k := range []*key{held.now, held.before} {
		if k != nil && bytes.Equal(sealed[1:header], k.mark()) {
			return k.open(sealed, row)
		}
	}
	return nil, ErrOtherKey
}

// Check returns a value that identifies the master key and reveals nothing else
// about it. It is nil if the vault is off.
func (v *Vault) Check() []byte {
	if v.On() != nil {
		return nil
	}
	return v.keys.Load().now.check[:]
}

// Source returns where the master key came from: a path, or "environment
// variable NAME"; "" if the vault is off.
func (v *Vault) Source() string {
	if v == nil {
		return ""
	}
	return v.source
}

// Derive returns 32 bytes that only the holder of the master key can compute.
// They stay the same for the same name as long as the key does.
func (v *Vault) Derive(name string) ([]byte, error) {
	if err := v.On(); err != nil {
		return nil, err
	}
	return v.keys.Load().now.derive("derived " + name)
}

// Row returns the place of a sealed value: a table, a column, and what
// identifies the row. Different lists of parts give different bytes.
func Row(parts ...string) []byte {
	var out []byte
	for _, p := range parts {
		out = binary.AppendUvarint(out, uint64(len(p)))
		out = append(out, p...)
	}
	return out
}
