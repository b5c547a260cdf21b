package bundle

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// golden holds bundles that earlier versions wrote, which every later one must
// read: a full one, one that adds to it, and the full one encrypted. The keys
// are published test keys. ENGRAMD_WRITE_BUNDLES=1 adds those of this version.
const golden = "../../../testdata/bundles"

func TestBundlesOfEarlierVersionsVerify(t *testing.T) {
	if os.Getenv("ENGRAMD_WRITE_BUNDLES") != "" {
		writeGolden(t)
	}
	identity, err := os.ReadFile(filepath.Join(golden, "identity.txt"))
	if err != nil {
		t.Fatal(err)
	}
	ids, err := ParseIdentities(bytes.NewReader(identity))
	if err != nil {
		t.Fatal(err)
	}
	plain, encrypted, incremental := 0, 0, 0
	for _, name := range ls(t, golden) {
		if _, _, ok := IDOf(name); !ok {
			continue
		}
		t.Run(name, func(t *testing.T) {
			r := mustVerify(t, filepath.Join(golden, name), VerifyOptions{
				Tenant: DefaultTenant, Agent: agentKey, Identities: ids, Keys: mustKeys(t, ownerSecret),
				Signers: []string{agentKey}, Parent: inDir(golden),
			})
			if !r.OK() {
				t.Fatal(r.Err())
			}
			switch {
			case r.Encrypted:
				encrypted++
			case r.Manifest.Incremental():
				incremental++
			default:
				plain++
			}
		})
	}
	if plain == 0 || encrypted == 0 || incremental == 0 {
		t.Errorf("%d full, %d encrypted and %d incremental bundles: some sort is missing", plain, encrypted, incremental)
	}
}

func writeGolden(t *testing.T) {
	t.Helper()
	identity, err := os.ReadFile(filepath.Join(golden, "identity.txt"))
	if err != nil {
		t.Fatal(err)
	}
	_, public, _ := strings.Cut(string(identity), "# public key: ")
	public, _, _ = strings.Cut(public, "\n")
	o := signedOptions(t)
	o.Software, o.Label = "engramd 0.5", "kept for later versions"
	mustWrite(t, golden, sample(t, 4), o)
	full := filepath.Join(golden, firstBundle(t))
	more := sample(t, 4)
	more.add(Heads, engram(t, "mem/new", "since then", 4000))
	o.CreatedAt = o.CreatedAt.Add(time.Hour)
	child := o
	child.Parent = mustOpen(t, full, VerifyOptions{})
	mustWrite(t, golden, more, child)
	o.CreatedAt = o.CreatedAt.Add(time.Hour)
	if o.Recipients, err = ParseRecipients([]string{public}); err != nil {
		t.Fatal(err)
	}
	mustWrite(t, golden, sample(t, 4), o)
}

func firstBundle(t *testing.T) string {
	t.Helper()
	for _, name := range ls(t, golden) {
		if _, encrypted, ok := IDOf(name); ok && !encrypted {
			return name
		}
	}
	t.Fatal("there is no bundle")
	return ""
}
