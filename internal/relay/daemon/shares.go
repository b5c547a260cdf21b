package daemon

import (
	"log/slog"
	"time"

	"engramd/internal/relay/config"
	"engramd/internal/relay/daemon/wiring"
	"engramd/internal/relay/fairness"
)

// shares say whom work is charged to.
type shares struct {
	log    *slog.Logger
	all    *fairness.Shares
	listed *fairness.Keys
}

// open makes them. What the rules know of keys comes from the store and, when the
// policy is compiled, from the lists.
func (s *shares) open(cfg *config.Config, known *wiring.Database) {
	s.listed = fairness.NewKeys(known.KnownSince, time.Now)
	s.all = fairness.NewShares(s.rules(cfg))
}

// rules returns the rules under a configuration. A warning is logged when it
// leaves clients that cannot be told apart.
func (s *shares) rules(cfg *config.Config) fairness.Rules {
	r := shareRules(cfg)
	if r.Common {
		s.log.Warn("clients from loopback and private addresses cannot be told apart and have one budget together: name the reverse proxy in proxy.trusted, or set limits.loopback_exempt to false if there is none")
	}
	r.Known = s.listed.Known
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
