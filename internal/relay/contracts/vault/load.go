package vault

import (
	"bytes"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"engramd/internal/relay/keys/keyfile"
)

// FileName is the name of the key file in the data folder.
const FileName = "master.key"

// Settings with a meaning of their own; any other is the path of a key file.
const (
	Auto      = "auto" // FileName in the data folder, made if it does not exist
	Never     = "off"
	envPrefix = "env:" // followed by the name of an environment variable
)

var (
	// ErrKey means that a text is not a master key. Its message does not repeat
	// the text.
	ErrKey = errors.New("not a master key: want 64 hex digits, of 32 random bytes (openssl rand -hex 32)")
	// ErrWrongKey means that something in the database is sealed with another
	// key.
	ErrWrongKey = errors.New("this is not the master key of this database")
	// ErrLost means that something is sealed with a key whose file is missing.
	ErrLost = errors.New("the master key of this database is missing")
	// ErrExposed means that others than the file's owner and group may read the
	// key file.
	ErrExposed = keyfile.ErrExposed
	// ErrUnset means that the environment variable of the key is not set.
	ErrUnset = errors.New("is not set")
)

// Options say where the master key is.
type Options struct {
	Setting string                           // Auto, Never, "env:NAME" or a path; "" is Auto
	Dir     string                           // data folder
	Env     func(name string) (string, bool) // environment variables, such as os.LookupEnv
	// Check is the check value of the master key with which something in the
	// database is sealed; nil if nothing is.
	Check []byte
	// Known is the check value of the master key that was in use last, whether
	// or not anything is sealed; nil for none. It decides between the key file
	// and the one that an interrupted change of the key has left beside it.
	Known  []byte
	Random io.Reader // nil means crypto/rand
}

// Open finds the master key, or makes one in the data folder if the settings
// say so and the database has never had one.
//
// Errors name the file or the variable, and wrap ErrKey, ErrWrongKey, ErrLost,
// ErrExposed or what the file system said.
func Open(o Options) (*Vault, error) {
	if err := o.settle(); err != nil {
		return nil, err
	}
	return o.open()
}

func (o Options) open() (*Vault, error) {
	if o.Random == nil {
		o.Random = rand.Reader
	}
	master, source, err := o.find()
	if err != nil {
		return nil, err
	}
	if master == nil {
		return Off(`contracts.master_key is "off" in the configuration of this relay`), nil
	}
	defer clear(master)
	v, err := New(master, o.Random)
	if err != nil {
		return nil, fmt.Errorf("master key, %s: %w", source, err)
	}
	v.source, v.path = source, o.path()
	if o.Check != nil && !bytes.Equal(o.Check, v.Check()) {
		return nil, fmt.Errorf("master key, %s: %w: give back the one that was in use; with contracts.master_key = %q the relay runs without its private entries and provisioned keys",
			source, ErrWrongKey, Never)
	}
	return v, nil
}

// Look returns nil if Open would find the key that it needs. It does not make
// one.
func Look(o Options) error {
	if o.Check == nil && (o.Setting == Auto || o.Setting == "") {
		if _, err := os.Stat(filepath.Join(o.Dir, FileName)); errors.Is(err, os.ErrNotExist) {
			return nil // one is made at the next start
		}
	}
	if path := o.path(); path != "" && o.staged() {
		// Open would settle this first.
		o.Setting = keyfile.Next(path)
	}
	_, err := o.open()
	return err
}

// path returns the path of the key file, "" if the key is in a variable or
// there is none.
func (o Options) path() string {
	switch {
	case o.Setting == Never || strings.HasPrefix(o.Setting, envPrefix):
		return ""
	case o.Setting == Auto || o.Setting == "":
		return filepath.Join(o.Dir, FileName)
	}
	return o.Setting
}

// staged reports whether the database has changed to the key that is beside the
// key file, to take its place.
func (o Options) staged() bool {
	master, err := readFile(keyfile.Next(o.path()))
	if err != nil || o.Known == nil {
		return false
	}
	defer clear(master)
	k, err := newKey(master, rand.Reader)
	return err == nil && bytes.Equal(k.check[:], o.Known)
}

// settle completes a change of the key that was interrupted after the
// database's commit. If it was interrupted before that, the file beside the key
// file stays: it does no harm, and no key is ever deleted unasked.
func (o Options) settle() error {
	path := o.path()
	if path == "" || !o.staged() {
		return nil
	}
	if err := keyfile.Switch(path); err != nil {
		return fmt.Errorf("master key, %s: put the new key in place: %w", path, err)
	}
	return nil
}

// find reads the key, or makes it; the key is nil if the operator wants none.
func (o Options) find() (master []byte, source string, err error) {
	name, inEnv := strings.CutPrefix(o.Setting, envPrefix)
	switch {
	case o.Setting == Never:
		return nil, "", nil
	case inEnv:
		source = "environment variable " + name
		text, ok := o.Env(name)
		if !ok {
			return nil, source, fmt.Errorf("master key: %s %w", source, ErrUnset)
		}
		master, err = Parse(text)
	case o.Setting == Auto || o.Setting == "":
		source = filepath.Join(o.Dir, FileName)
		master, err = o.own(source)
	default:
		source = o.Setting
		master, err = readFile(source)
	}
	if err != nil {
		return nil, source, fmt.Errorf("master key, %s: %w", source, err)
	}
	return master, source, nil
}

// own reads the key file in the data folder, or makes it.
func (o Options) own(path string) ([]byte, error) {
	master, err := readFile(path)
	if !errors.Is(err, os.ErrNotExist) {
		return master, err
	}
	if o.Check != nil {
		return nil, fmt.Errorf("%w: put the file back, from where it was kept with the backups; with contracts.master_key = %q the relay runs without its private entries and provisioned keys",
			ErrLost, Never)
	}
	master = make([]byte, KeySize)
	if _, err := io.ReadFull(o.Random, master); err != nil {
		return nil, err
	}
	return master, writeFile(path, master)
}

func readFile(path string) ([]byte, error) {
	text, err := keyfile.Read(path)
	switch {
	case errors.Is(err, keyfile.ErrShape):
		return nil, ErrKey
	case err != nil:
		return nil, err
	}
	defer clear(text)
	return Parse(string(text))
}

// writeFile makes the key file. It never overwrites a file.
func writeFile(path string, master []byte) error {
	text := fileText(master)
	defer clear(text)
	return keyfile.Create(path, text)
}

func fileText(master []byte) []byte {
	return fmt.Appendf(nil, "# Master key of engramd's contract memory. Keep a copy with the backups, apart from the database.\n%x\n", master)
}

// Parse reads a master key: 64 hex digits on a line of their own, among empty
// lines and lines that begin with #. The error is ErrKey.
func Parse(text string) ([]byte, error) {
	var key []byte
	err := keyfile.Lines([]byte(text), func(line []byte) error {
		raw, err := hex.DecodeString(string(line))
		if err != nil || len(raw) != KeySize || key != nil {
			return ErrKey
		}
		key = raw
		return nil
	})
	if err != nil {
		return nil, err
	}
	if key == nil || bytes.Count(key, key[:1]) == KeySize {
		return nil, ErrKey
	}
	return key, nil
}
