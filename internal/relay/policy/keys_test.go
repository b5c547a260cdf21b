package policy

import (
	"context"
	"errors"
	"strings"
	"testing"
)

// TestKeysThatTheOperatorHadMade write on a closed relay, unless they are
// banned.
func TestKeysThatTheOperatorHadMade(t *testing.T) {
	made := func(_ context.Context, key string) (bool, error) { return key == agentKey, nil }
	for _, o := range []Options{{Authors: []string{ownerKey}}, {Owners: []string{ownerKey}}, {Authors: []string{vectorOwner}, Owners: []string{ownerKey}}} {
		o.Provisioned = made
		p := mustPolicy(t, o)
		check(t, p, note(agentKey), "")
		check(t, p, engram(agentKey, strangerKey), "")
		check(t, p, note(strangerKey), "restricted: ")
		o.BannedAuthors = []string{agentKey}
		check(t, mustPolicy(t, o), note(agentKey), "blocked: this key")
		o.Provisioned = func(context.Context, string) (bool, error) { return false, errors.New("broken") }
		check(t, mustPolicy(t, o), note(strangerKey), "error: ")
	}
}

// TestKeysAreJudgedWithoutAnEvent as their events would be.
func TestKeysAreJudgedWithoutAnEvent(t *testing.T) {
	var live Live
	for _, why := range []string{live.Banned(t.Context(), agentKey), live.Unlisted(t.Context(), agentKey)} {
		if why != notReady {
			t.Errorf("without a policy: %q", why)
		}
	}
	live.Set(mustPolicy(t, Options{Authors: []string{ownerKey, strangerKey}, BannedAuthors: []string{strangerKey},
		Provisioned: func(_ context.Context, key string) (bool, error) { return key == vectorOwner, nil }}))
	for key, want := range map[string][2]string{ownerKey: {}, vectorOwner: {}, agentKey: {"", "restricted: only listed"}, strangerKey: {"blocked: this key", ""}} {
		for i, got := range []string{live.Banned(t.Context(), key), live.Unlisted(t.Context(), key)} {
			if !strings.HasPrefix(got, want[i]) || (got == "") != (want[i] == "") {
				t.Errorf("%.8s: %q, want %q", key, got, want[i])
			}
		}
	}
}
