package bundle

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"filippo.io/age"

	"engramd/nips/nipae"
)

// VerifyOptions says what is asked of a bundle, beyond what always is: that
// file, container, manifest, seal and events are whole and right.
type VerifyOptions struct {
	// Tenant and Agent, if not empty, must be those of the manifest.
	Tenant, Agent string
	// Identities open an encrypted bundle. Without them nothing inside is
	// checked, and the report is not OK.
	Identities Identities
	// Keys, if not nil, ask that the engrams which they have keys for decrypt.
	Keys Keys
	// Signers, if any, ask for a signature by one of these public keys.
	Signers []string
	// Trusted are public keys whose signature is believed, as the agent's is,
	// without being asked for.
	Trusted []string
	// Parent finds the bundle that an incremental one rests on. Without it heads
	// and root of an incremental bundle cannot be checked.
	Parent func(id string) (path string, err error)
	// Engram, if not nil, is given each engram that Keys opened and whose signature
	// is right, also those of the bundles that this one rests on, in no order.
	Engram func(class Class, e nipae.Engram)
	Limits Limits
}

// Verify checks the bundle at path. Faults of the bundle are in the report; the
// error says that looking at it failed (not there, not readable, ctx ended).
func Verify(ctx context.Context, path string, o VerifyOptions) (*Report, error) {
	b, err := verifyFile(ctx, path, o, 0)
	if err != nil {
		return nil, err
	}
	return b.Report, nil
}

// Open verifies the bundle at path and returns it for its events to be read.
// The error is ErrInvalid unless its report, which comes with it, is OK.
func Open(ctx context.Context, path string, o VerifyOptions) (*Bundle, *Report, error) {
	b, err := verifyFile(ctx, path, o, 0)
	if err != nil {
		return nil, nil, err
	}
	if err := b.Report.Err(); err != nil {
		return nil, b.Report, err
	}
	return b, b.Report, nil
}

// openRegular opens a file, and nothing that would block or never end.
func openRegular(path string) (*os.File, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, fmt.Errorf("open snapshot: %w", err)
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("open snapshot: %s is not a regular file", path)
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("open snapshot: %w", err)
	}
	return f, nil
}

func verifyFile(ctx context.Context, path string, o VerifyOptions, depth int) (*Bundle, error) {
	f, err := openRegular(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	v := newVerifier(ctx, o, depth)
	v.report.Path = path
	if id, _, ok := IDOf(filepath.Base(path)); ok {
		v.report.ID, v.wantID = id, id
	}
	if err := v.file(f); err != nil {
		return nil, fmt.Errorf("read %s: %w", path, err)
	}
	v.checkFileHash(path)
	v.finish()
	return &Bundle{
		ID: v.report.ID, Path: path, Manifest: v.report.Manifest, Report: v.report,
		state: v.state, parent: v.parent, identities: o.Identities, maxLine: v.lim.Line,
	}, nil
}

// ageMagic begins every age file.
var ageMagic = []byte("age-encryption.org/v1\n")

// file reads the whole file: what is inside as far as it can be, and all of it
// for the hash.
func (v *verifier) file(f io.Reader) error {
	sum := &summer{h: sha256.New()}
	disk := &layer{r: io.TeeReader(f, sum)}
	in := bufio.NewReaderSize(disk, 64<<10)
	magic, _ := in.Peek(len(ageMagic))
	if v.report.Encrypted = bytes.Equal(magic, ageMagic); v.report.Encrypted {
		v.encrypted(in)
	} else {
		v.stream(in)
	}
	io.Copy(io.Discard, in)
	if disk.err != nil {
		return disk.err
	}
	v.report.Size, v.report.SHA256 = sum.n, hex.EncodeToString(sum.h.Sum(nil))
	return v.ctx.Err()
}

// encrypted opens the age stream and checks what is inside.
func (v *verifier) encrypted(in io.Reader) {
	if v.o.Identities.Empty() {
		v.stop = "it is encrypted, and no identity was given"
		v.set(CheckEncryption, NotChecked, "it is encrypted, and no identity was given (--decrypt-identity FILE)")
		return
	}
	plain, err := age.Decrypt(in, v.o.Identities.keys...)
	if err != nil {
		v.stop = "the snapshot could not be decrypted"
		var none *age.NoIdentityMatchError
		if errors.As(err, &none) {
			v.set(CheckEncryption, Failed, "none of the identities opens it")
			return
		}
		v.set(CheckEncryption, Failed, err.Error())
		return
	}
	l := &layer{r: plain}
	v.stream(l)
	if _, err := io.Copy(io.Discard, l); err != nil && l.err == nil {
		l.err = err
	}
	if l.err != nil {
		v.set(CheckEncryption, Failed, l.err.Error())
		return
	}
	v.set(CheckEncryption, OK, "")
}

// checkFileHash compares the file with its .sha256 sibling.
func (v *verifier) checkFileHash(path string) {
	f, err := openRegular(path + SumExtension)
	if err != nil {
		v.set(CheckFileHash, NotChecked, "there is no readable "+filepath.Base(path)+SumExtension)
		return
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, 4096))
	switch want := v.report.SHA256 + "  " + filepath.Base(path) + "\n"; {
	case err != nil:
		v.set(CheckFileHash, NotChecked, err.Error())
	case string(b) == want:
		v.set(CheckFileHash, OK, "")
	case len(b) == len(want) && string(b[64:]) == want[64:]:
		v.set(CheckFileHash, Failed, "the file has SHA-256 "+v.report.SHA256)
	default:
		v.set(CheckFileHash, Failed, filepath.Base(path)+SumExtension+" is not the line that sha256sum writes for the file")
	}
}

// verifyWritten checks what a writer writes, before encryption; the container's
// file comes later. It reads to the end in any case.
func verifyWritten(ctx context.Context, in io.Reader, o Options, id string) (*Report, error) {
	v := newVerifier(ctx, VerifyOptions{Tenant: o.Tenant, Agent: o.Agent, Keys: o.Keys, Limits: o.Limits}, 0)
	v.wantID, v.written = id, true
	v.base = o.Parent
	v.stream(in)
	_, err := io.Copy(io.Discard, in)
	v.finish()
	return v.report, err
}
