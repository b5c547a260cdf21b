package config

func (c *Config) webOptions() []*declared {
	return []*declared{
		{"web.enabled", "Serve the owner's page below /app/. It is the same for everybody and reads nothing at the relay: what it shows is decrypted in the browser. Off: there is nothing at /app/.", false, onOff(&c.Web.Enabled, true)},
	}
}
