package keys

import (
	"bytes"
	"encoding/hex"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"engramd/internal/relay/keys/keyfile"
)

// FileName is the name of the key file in the data folder.
const FileName = "relay.key"

// Auto is the setting that stands for FileName in the data folder, made when it
// is not there. Any other is the path of a key file, or "env:" and the name of
// an environment variable.
const Auto = "auto"

const envPrefix = "env:"

// maxKeys bounds the keys of a file or variable.
const maxKeys = 32

var (
	// ErrKey means that a text is no key file. It does not repeat it.
	ErrKey = errors.New("not a relay key: want 64 hex digits on a line, the relay's key first, former ones below it")
	// ErrOther means that the key is not the one that the database knows as the
	// relay's.
	ErrOther = errors.New("this is not the identity key of this relay")
	// ErrLost means that the database knows a key whose file is not there.
	ErrLost = errors.New("the relay's identity key is missing")
	// ErrUnset means that the environment variable of the key is not set.
	ErrUnset = errors.New("not set")
	// ErrEnv means that an environment variable cannot be changed from here.
	ErrEnv = errors.New("the key is in an environment variable, which only you can change")
)

// place is where the key is, found or not.
type place struct {
	path string // "" for a variable
	text func() (string, error)
	name string // for people
	auto bool   // the daemon's own file, which it may make
}

func (o Options) place() place {
	if name, ok := strings.CutPrefix(o.Setting, envPrefix); ok {
		p := place{name: "environment variable " + name}
		p.text = func() (string, error) {
			text, ok := o.Env(name)
			if !ok {
				return "", ErrUnset
			}
			return text, nil
		}
		return p
	}
	p := place{path: o.Setting}
	if o.Setting == Auto || o.Setting == "" {
		p.path, p.auto = filepath.Join(o.Dir, FileName), true
	}
	p.name = p.path
	p.text = func() (string, error) { return readText(p.path) }
	return p
}

func readText(path string) (string, error) {
	text, err := keyfile.Read(path)
	if errors.Is(err, keyfile.ErrShape) {
		return "", ErrKey
	}
	defer clear(text)
	return string(text), err
}

// keys reads the keys of the place.
func (p place) keys() ([]Key, error) { return keysOf(p.text()) }

// current reads the keys, of which the first must be the known one if there is
// one. staged says that they are those that a rotation has put beside the file,
// and committed.
func (p place) current(known string) (keys []Key, staged bool, err error) {
	keys, err = p.keys()
	if known == "" || err == nil && keys[0].pubkey == known {
		return keys, false, err
	}
	if p.path != "" {
		if next, e := keysOf(readText(keyfile.Next(p.path))); e == nil && next[0].pubkey == known {
			return next, true, nil
		}
	}
	return nil, false, misfit(keys, err, known)
}

func (p place) wrap(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("relay key, %s: %w", p.name, err)
}

func keysOf(text string, err error) ([]Key, error) {
	if err != nil {
		return nil, err
	}
	var keys []Key
	err = keyfile.Lines([]byte(text), func(line []byte) error {
		raw := make([]byte, len(line)/2)
		if _, err := hex.Decode(raw, bytes.ToLower(line)); err != nil || len(keys) == maxKeys {
			return ErrKey
		}
		k, err := newKey(raw)
		keys = append(keys, k)
		return err
	})
	if err == nil && len(keys) == 0 {
		err = ErrKey
	}
	for line := range strings.Lines(text) {
		if statement, ok := strings.CutPrefix(line, handedOver); ok && err == nil {
			keys[0].chain += strings.TrimSpace(statement) + "\n"
		}
	}
	return keys, err
}

// handedOver begins a line with a key's statement who its successor is.
const handedOver = "# Handed over: "

// fileText returns a key file with these keys in it.
func fileText(keys []Key) []byte {
	text := []byte("# Identity key of this relay. Keep a copy with the backups, apart from the database.\n")
	for i, k := range keys {
		if i == 1 {
			text = append(text, "# Former keys, kept for contracts that name them.\n"...)
		}
		text = fmt.Appendf(text, "%s\n", k.secret())
	}
	for statement := range strings.Lines(keys[0].chain) {
		text = append(append(text, handedOver...), statement...)
	}
	return text
}

// stage and put write the keys to the file of the place, in two steps.
func (p place) stage(keys []Key) error {
	text := fileText(keys)
	defer clear(text)
	return keyfile.Stage(p.path, text)
}

func (p place) put(keys []Key) error {
	if err := p.stage(keys); err != nil {
		return err
	}
	return keyfile.Switch(p.path)
}

// create makes the file with one key, of a seed if there is one.
func (p place) create(seed []byte) ([]Key, error) {
	k, err := makeKey(seed)
	if err != nil {
		return nil, err
	}
	text := fileText([]Key{k})
	defer clear(text)
	return []Key{k}, keyfile.Create(p.path, text)
}
