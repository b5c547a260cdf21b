package authority

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io/fs"
	"net"
	"os"
	"regexp"
	"slices"
	"strings"
	"time"

	"engramd/internal/platform/files"
	"engramd/internal/relay/keys/keyfile"
)

// Token lets one machine in, once.
type Token struct {
	Door   string   // HOST:PORT
	Print  [32]byte // SHA-256 of the authority's certificate
	Secret [32]byte
	Name   string // of whom it lets in
}

const (
	tokenLasts = time.Hour
	mostTokens = 16
	tokenMark  = "engramd-join-1."
	longToken  = 1 << 10
)

var (
	// ErrNoToken means that a text is no token. It does not repeat it.
	ErrNoToken = errors.New("not a token of engramd cluster token")
	// ErrToken means that a token lets nobody in. It does not say why: who asks may
	// have no right to know.
	ErrToken = errors.New("invalid token: used, revoked, older than an hour, or for another name")
	// ErrMany means that there are too many tokens.
	ErrMany = errors.New("too many open tokens; revoke one with engramd cluster token revoke NAME")
	// ErrName means that a name cannot be a machine's.
	ErrName = errors.New("want the name or the IP address of a machine")
)

var namesHost = regexp.MustCompile(`^[A-Za-z0-9]([A-Za-z0-9.-]{0,62}[A-Za-z0-9])?$`)

// CheckHost returns ErrName for what is no machine's name. It goes into certificates
// and configurations.
func CheckHost(host string) error {
	if ip := net.ParseIP(host); ip == nil && (!namesHost.MatchString(host) || strings.Contains(host, "..")) || ip != nil && ip.IsUnspecified() {
		return ErrName
	}
	return nil
}

func (t Token) String() string {
	raw := append(append([]byte{}, t.Print[:]...), t.Secret[:]...)
	return tokenMark + base64.RawURLEncoding.EncodeToString(append(raw, t.Name+"@"+t.Door...))
}

// ParseToken reads what String wrote.
func ParseToken(text string) (t Token, err error) {
	body, ok := strings.CutPrefix(strings.TrimSpace(text), tokenMark)
	raw, err := base64.RawURLEncoding.Strict().DecodeString(body)
	if !ok || err != nil || len(text) > longToken || len(raw) < 64 {
		return Token{}, ErrNoToken
	}
	copy(t.Print[:], raw)
	copy(t.Secret[:], raw[32:])
	t.Name, t.Door, _ = strings.Cut(string(raw[64:]), "@")
	host, port, err := net.SplitHostPort(t.Door)
	if err != nil || CheckHost(host) != nil || CheckHost(t.Name) != nil || port == "" || strings.Trim(port, "0123456789") != "" {
		return Token{}, ErrNoToken
	}
	return t, nil
}

// Book has the open tokens, by the hashes of their secrets, in a file.
type Book struct {
	Path string
	Now  func() time.Time
}

// Entry is one open token.
type Entry struct {
	Hash  string    `json:"hash"`
	Name  string    `json:"name"`
	Until time.Time `json:"until"`
}

func hashOf(secret [32]byte) string {
	sum := sha256.Sum256(secret[:])
	return hex.EncodeToString(sum[:])
}

// Add opens a token for a name.
func (b Book) Add(ctx context.Context, name string) (secret [32]byte, err error) {
	_, _ = rand.Read(secret[:]) // which never fails
	_, err = b.change(ctx, func(all []Entry) ([]Entry, error) {
		if len(all) >= mostTokens {
			return nil, ErrMany
		}
		return append(all, Entry{hashOf(secret), name, b.Now().Add(tokenLasts).UTC().Truncate(time.Second)}), nil
	})
	return secret, err
}

// Take uses a token up, before anything is given for it. The error is ErrToken.
func (b Book) Take(ctx context.Context, secret [32]byte, name string) error {
	return b.drop(ctx, func(e Entry) bool { return e.Hash == hashOf(secret) && e.Name == name })
}

// Close gives up a token that nobody can use any more, if it is open.
func (b Book) Close(secret [32]byte) {
	_ = b.Revoke(context.Background(), hashOf(secret)) // else it ends by its hour
}

// Revoke closes those of a name, or the one whose hash begins so.
func (b Book) Revoke(ctx context.Context, which string) error {
	return b.drop(ctx, func(e Entry) bool { return e.Name == which || len(which) >= 8 && strings.HasPrefix(e.Hash, which) })
}

func (b Book) drop(ctx context.Context, is func(Entry) bool) error {
	_, err := b.change(ctx, func(all []Entry) ([]Entry, error) {
		left := slices.DeleteFunc(slices.Clone(all), is)
		if len(left) == len(all) {
			return nil, ErrToken
		}
		return left, nil
	})
	return err
}

// List returns those that are open.
func (b Book) List(ctx context.Context) ([]Entry, error) {
	return b.change(ctx, func(all []Entry) ([]Entry, error) { return all, nil })
}

// change changes the book, while no other process does.
func (b Book) change(ctx context.Context, fn func([]Entry) ([]Entry, error)) (all []Entry, err error) {
	lock, err := os.OpenFile(b.Path+".lock", os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	defer lock.Close() // which gives the lock free
	if err := files.Lock(ctx, lock, 20*time.Millisecond); err != nil {
		return nil, err
	}
	text, err := keyfile.Read(b.Path)
	if err == nil {
		err = json.Unmarshal(text, &all)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	now, before := b.Now(), slices.Clone(all)
	all = slices.DeleteFunc(all, func(e Entry) bool { return !now.Before(e.Until) })
	next, err := fn(all)
	if err != nil || slices.Equal(next, before) {
		return next, err
	}
	if text, err = json.Marshal(next); err == nil {
		err = files.Replace(b.Path, text)
	}
	return next, err
}
