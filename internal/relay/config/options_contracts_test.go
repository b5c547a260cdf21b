package config

import (
	"strings"
	"testing"
)

func TestMasterKeyIsAPlace(t *testing.T) {
	secret := strings.Repeat("0b", 32)
	for text, want := range map[string]string{
		"auto": "", "off": "", "/run/secrets/engramd": "", "env:MASTER_KEY": "",
		"": "empty", secret: "a key itself", strings.ToUpper(secret): "a key itself", "env:": "env:", "env:A B": "env:", "env:ENGRAMD_LISTEN": "ENGRAMD_",
	} {
		c, err := Load(Sources{Env: []string{"ENGRAMD_CONTRACTS_MASTER_KEY=" + text}})
		switch {
		case want == "" && (err != nil || c.Contracts.MasterKey != text):
			t.Errorf("%q: %v", text, err)
		case want != "" && (err == nil || !strings.Contains(err.Error(), want)):
			t.Errorf("%q: %v, want %q", text, err, want)
		case err != nil && strings.Contains(strings.ToLower(err.Error()), secret):
			t.Errorf("the key is repeated: %v", err)
		}
	}
}
