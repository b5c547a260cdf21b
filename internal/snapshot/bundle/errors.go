package bundle

import "errors"

var (
	// ErrInvalid means that a bundle is not OK; Report.Err names the checks.
	ErrInvalid = errors.New("the snapshot does not verify")
	// ErrEmpty means that there is no engram to make a bundle of.
	ErrEmpty = errors.New("there is no memory to make a snapshot of")
	// ErrUntrusted means that nobody who is trusted signed a bundle.
	ErrUntrusted = errors.New("no trusted signature")
	// ErrLimit means that there is more than Limits allow.
	ErrLimit = errors.New("beyond the limits")
	// ErrChanged means that a file is not the one that was verified before.
	ErrChanged = errors.New("the snapshot was changed since it was verified")
)

// Names of the entries before the artifacts.
const (
	manifestName  = "manifest.json"
	signatureName = "manifest.sig"
)
