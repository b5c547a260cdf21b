package bundle

import (
	"bytes"
	"os"
	"runtime"
	"testing"
)

func FuzzParseManifest(f *testing.F) {
	w := mustWrite(f, f.TempDir(), sample(f, 0), options())
	good, err := w.Manifest.Encode()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(good)
	f.Add([]byte(`{}`))
	f.Add(bytes.Replace(good, []byte(`"label"`), []byte(`"Label"`), 1))
	f.Fuzz(func(t *testing.T, b []byte) {
		m, err := ParseManifest(b)
		if err != nil {
			return
		}
		again, err := m.Encode()
		if err != nil || !bytes.Equal(b, again) {
			t.Fatalf("%q was taken and is written as %q, %v", b, again, err)
		}
	})
}

// FuzzEntries reads any tar; what is accepted must be exactly what a bundle is.
func FuzzEntries(f *testing.F) {
	w := mustWrite(f, f.TempDir(), sample(f, 0), signedOptions(f))
	good := unpack(f, w.Path)
	f.Add(good)
	f.Add(good[:len(good)-1024])
	f.Add(crafted(f))
	f.Fuzz(func(t *testing.T, b []byte) {
		v := newVerifier(t.Context(), VerifyOptions{Limits: Limits{Events: 1000, Line: 1 << 16}}, 0)
		v.wantID = w.ID
		err := v.entries(&tarReader{r: bytes.NewReader(b)})
		if err != nil {
			v.stop = err.Error()
		} else {
			v.set(CheckEntries, OK, "")
		}
		v.set(CheckFileHash, OK, "")
		v.set(CheckCompression, OK, "")
		v.finish()
		// The id commits to the manifest, and that to all but the signature.
		if v.report.OK() && len(b) != len(good) {
			t.Fatalf("%d bytes verify as the bundle of %d", len(b), len(good))
		}
	})
}

// FuzzFile reads any file in bounded memory.
func FuzzFile(f *testing.F) {
	w := mustWrite(f, f.TempDir(), sample(f, 0), options())
	good, err := os.ReadFile(w.Path)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(good)
	f.Add(zeroFrame(20, nil, 1<<30))
	f.Add(append(bytes.Clone(ageMagic), "-> X25519 x\n"...))
	_, ids := newIdentity(f)
	f.Fuzz(func(t *testing.T, b []byte) {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		v := newVerifier(t.Context(), VerifyOptions{Identities: ids, Limits: Limits{Events: 1000, Line: 1 << 16}}, 0)
		if err := v.file(bytes.NewReader(b)); err != nil {
			t.Fatal(err)
		}
		v.finish()
		runtime.ReadMemStats(&after)
		if took := after.TotalAlloc - before.TotalAlloc; took > 64<<20+64*uint64(len(b)) {
			t.Fatalf("%d bytes took %d bytes of memory", len(b), took)
		}
	})
}
