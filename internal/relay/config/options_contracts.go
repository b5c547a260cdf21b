package config

import (
	"errors"
	"regexp"
	"strings"
)

func (c *Config) contractOptions() []*declared {
	k := &c.Contracts
	return []*declared{
		{"contracts.master_key", `Where the key is that seals private entries and provisioned keys: "auto" is the file master.key in the data folder, made at the first start; a path names a file with 64 hex digits; "env:NAME" names an environment variable that has them; "off" does without, and private entries and provisioning answer 503. Keep a copy with the backups.`, false,
			one(&k.MasterKey, "auto", keyPlace("auto, off, path or env:NAME"))},
		{"contracts.publish_to", "Further relays that contract events written over the API are published to. An event that one of them does not take is sent again until it does.", false,
			many(&k.PublishTo, relayURL())},
		{"contracts.any_id", "Take contracts under any id. Otherwise a new one needs an id that nobody can guess, a UUID or at least 32 hex digits, because whoever names a contract may read the entries shared in it.", true,
			onOff(&k.AnyID, false)},
	}
}

var envName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// keyPlace takes the place of a secret key, and never the key itself: flags and
// configuration files are seen by others.
func keyPlace(words string) elem[string] {
	e := text(func(s string) error {
		name, env := strings.CutPrefix(s, "env:")
		switch {
		case s == "":
			return errEmpty
		case hexKey.MatchString(strings.ToLower(s)):
			return errors.New("this is a key itself: put it into a file or an environment variable, and treat it as known to others")
		case env && !envName.MatchString(name):
			return errors.New("env: must be followed by the name of an environment variable")
		case env && strings.HasPrefix(name, envPrefix):
			return errors.New("env: must not name an option of engramd (" + envPrefix + "…)")
		}
		return nil
	})
	e.one = words
	return e
}
