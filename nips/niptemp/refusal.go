package niptemp

import "engramd/nips/nip01"

// Every error of this package is a *nip01.Refusal that is "invalid" or
// "blocked".

func invalid(format string, args ...any) error {
	return nip01.Refuse(nip01.PrefixInvalid, format, args...)
}

func blocked(format string, args ...any) error {
	return nip01.Refuse(nip01.PrefixBlocked, format, args...)
}
