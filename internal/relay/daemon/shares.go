package daemon

import (
	"time"

	"engramd/internal/relay/config"
	"engramd/internal/relay/fairness"
)

// openShares makes the shares that say whom work is charged to. What the rules
// know of keys comes from the store and, when the policy is compiled, from the
// lists.
func (c *process) openShares() {
	c.listed = fairness.NewKeys(c.store.KnownSince, time.Now)
	c.shares = fairness.NewShares(c.shareRules(c.cfg))
}

// shareRules returns the rules under a configuration. A warning is logged when
// it leaves clients that cannot be told apart.
func (c *process) shareRules(cfg *config.Config) fairness.Rules {
	r := shareRules(cfg)
	if r.Common {
		c.log.Warn("clients from loopback and private addresses cannot be told apart and have one budget together: name the reverse proxy in proxy.trusted, or set limits.loopback_exempt to false if there is none")
	}
	r.Known = c.listed.Known
	return r
}

// shareRules say how addresses are told apart.
func shareRules(cfg *config.Config) fairness.Rules {
	loopback, exempt := cfg.LoopbackNames(), cfg.Limits.LoopbackExempt
	return fairness.Rules{
		Exempt: exempt && loopback,
		Common: exempt && !loopback && len(cfg.Proxy.Trusted) == 0,
	}
}
