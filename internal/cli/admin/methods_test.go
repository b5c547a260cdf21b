//go:build cgo

package admin

import (
	"slices"
	"testing"

	"engramd/internal/relay/management"
)

// TestAdminSpeaksEveryMethod: a method that the server learns has to be learnt
// here, and the other way round.
func TestAdminSpeaksEveryMethod(t *testing.T) {
	var names []string
	for _, m := range adminMethods() {
		names = append(names, m.name)
	}
	if want := management.Methods(); !slices.Equal(names, want) {
		t.Errorf("engramctl admin speaks\n%v, the server\n%v", names, want)
	}
}
