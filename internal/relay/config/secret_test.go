package config

import (
	"slices"
	"testing"
)

func TestSecretVariables(t *testing.T) {
	cfg, err := load(t, "[contracts]\nmaster_key = \"env:THE_KEY\"\n", nil)
	if err != nil {
		t.Fatal(err)
	}
	if got := cfg.SecretVariables(); !slices.Equal(got, []string{"THE_KEY"}) {
		t.Errorf("got %v", got)
	}
	if got := Default().SecretVariables(); len(got) != 0 {
		t.Errorf("the defaults have %v", got)
	}
}
