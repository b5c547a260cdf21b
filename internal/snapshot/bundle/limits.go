package bundle

// Limits bounds what reading a bundle may cost. The zero value of a field
// stands for its default.
type Limits struct {
	// Events is how many events the bundle and its parents may hold together;
	// about 250 bytes of memory are used for each. Default 1,000,000.
	Events int
	// Line is the greatest size of one event in bytes. Default 4 MiB.
	Line int
	// Chain is how many bundles an incremental one may rest on. Default 1,000.
	Chain int
}

const (
	maxManifest  = 8 << 20 // bytes
	maxSignature = 4 << 10
	maxArtifact  = 1<<33 - 1 // what the size field of a tar header can say
	maxWindow    = 8 << 20   // of zstd, as written
	maxOwners    = 65_536
	maxLabel     = 256 // bytes
	// MaxRecipients is how many keys one bundle is encrypted to at most.
	MaxRecipients = 256
)

func (l Limits) withDefaults() Limits {
	if l.Events <= 0 {
		l.Events = 1_000_000
	}
	if l.Line <= 0 {
		l.Line = 4 << 20
	}
	if l.Chain <= 0 {
		l.Chain = 1_000
	}
	return l
}
