package config

import "strings"

// SecretVariables names the environment variables that options point to
// ("env:NAME"): what is in them is a secret, and no program that the daemon
// starts gets to see it.
func (c *Config) SecretVariables() []string {
	var names []string
	for _, o := range c.options() {
		if name, ok := strings.CutPrefix(strings.Trim(o.value.literal(), `"`), "env:"); ok {
			names = append(names, name)
		}
	}
	return names
}
