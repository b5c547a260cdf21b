package setup

import (
	"context"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"engramd/internal/cli/cliutil"
	"engramd/internal/cli/settings"
	"engramd/internal/client"
	"engramd/internal/platform/pattern"
	"engramd/internal/platform/service"
)

// localBytes bounds the database of a local relay: a program that runs wild fills no
// disk.
const localBytes = "4GiB"

// writers are who may write to the local relay, by their public keys. Without any it
// takes everybody's events.
type writers struct{ owners, authors []string }

// writersFlag finds them in what a service runs.
var writersFlag = pattern.Later(`--write-(owners|authors)=([0-9a-z,]+)`)

func writersIn(unit string) (w writers) {
	for _, m := range writersFlag().FindAllStringSubmatch(unit, -1) {
		if keys := strings.Split(m[2], ","); m[1] == "owners" {
			w.owners = keys
		} else {
			w.authors = keys
		}
	}
	return w
}

func (w writers) open() bool { return len(w.owners)+len(w.authors) == 0 }

// add lists an owner and an agent of theirs; "" is nobody.
func (w *writers) add(owner, agent string) {
	w.owners, w.authors = listed(w.owners, owner), listed(w.authors, agent)
}

func listed(keys []string, key string) []string {
	if hex, err := settings.PublicKey("", "", key); err == nil && hex != "" {
		key = settings.Npub(hex)
	}
	if key == "" || slices.Contains(keys, key) {
		return keys
	}
	return append(keys, key)
}

// args are those of engramd serve.
func (w writers) args() (args []string) {
	if w.open() {
		return nil
	}
	for flag, keys := range map[string][]string{"--write-authors=": w.authors, "--write-owners=": w.owners} {
		if len(keys) > 0 {
			args = append(args, flag+strings.Join(keys, ","))
		}
	}
	slices.Sort(args)
	return append(args, "--store-max-bytes="+localBytes)
}

// unitAt is the user's service that runs a relay, "" for none that setup wrote.
func unitAt(env *cliutil.Env) (text, url string) {
	text, err := fileText(services(env).File())
	m := listenFlag().FindStringSubmatch(text)
	if err != nil || m == nil || !service.Ours(text) {
		return "", ""
	}
	return text, "ws://" + m[1]
}

// OpenRelay reports whether a relay is the one that setup had started here, and takes
// everybody's events.
func OpenRelay(env *cliutil.Env, relay string) bool {
	text, url := unitAt(env)
	return text != "" && url == strings.TrimSuffix(relay, "/") && writersIn(text).open()
}

// findWriters asks whether a local relay that takes everybody's events is to take
// those of this configuration's people and agents alone. With nobody to ask it stays
// as it is.
func (s *setup) findWriters(ctx context.Context) (err error) {
	text, url := unitAt(s.env)
	if !s.f.local || text == "" || !writersIn(text).open() {
		return nil
	}
	if s.f.yes || s.f.dryRun {
		s.env.Note("the relay at %s takes everybody's events: engramctl setup --local without --yes asks whether that is meant", url)
		return nil
	}
	if !s.Answers() {
		return s.Missing("--yes")
	}
	s.narrow, err = s.Agrees(ctx, "The relay at "+url+" takes everybody's events. Let only you and your agents write there?", true)
	return err
}

// writersOf are who may write to the local relay from this setup on: those that may
// already, with this owner and agent, or everybody where that is to stay. A relay that
// is narrowed knows all who have it in this configuration.
func writersOf(ctx context.Context, s *setup, before, url string) (w writers) {
	w = writersIn(before)
	if before != "" && w.open() && !s.narrow {
		return w
	}
	if s.narrow {
		for _, name := range slices.Sorted(maps.Keys(s.file.Profiles)) {
			p := s.file.Profiles[name]
			if !slices.ContainsFunc(p.Relays, func(r string) bool { return strings.TrimSuffix(r, "/") == url }) {
				continue
			}
			key := KeyOf(ctx, s.env, name, p)
			if key == "" {
				s.env.Note("profile %q has a key that cannot be read here: until its owner runs engramctl agents allow, the relay refuses it", name)
			}
			if p.Agent != "" {
				w.add(key, p.Agent)
			} else {
				w.add(p.Owner, key)
			}
		}
	}
	w.add(s.want.Owner, s.agent)
	return w
}

// KeyOf is the public key (npub) of a profile's key, "" where that cannot be told.
func KeyOf(ctx context.Context, env *cliutil.Env, name string, p settings.ProfileFile) string {
	path := p.KeyFile
	if !filepath.IsAbs(path) {
		config, _ := env.ConfigPath()
		path = filepath.Join(filepath.Dir(config), path)
	}
	text, err := "", error(nil)
	if p.KeyStore == settings.StoreKeychain {
		text, err = env.Keychain.Get(ctx, name)
	} else {
		text, err = settings.ReadPrivate("key file", path)
	}
	if err != nil {
		return ""
	}
	return publicOf(text)
}

// publicOf is the public key of a key as people keep it, "" for an encrypted one.
func publicOf(text string) string {
	secret, _, err := settings.ParseSecret(text)
	if err != nil || secret == "" {
		return ""
	}
	id, err := client.NewIdentity(secret)
	if err != nil {
		return ""
	}
	return settings.Npub(id.PubKey())
}
