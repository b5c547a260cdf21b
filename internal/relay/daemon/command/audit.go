package command

import (
	"bufio"
	"cmp"
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"time"

	"engramd/internal/platform/timeparse"
	"engramd/internal/relay/store"
)

// auditCommand is `engramd audit`: the calls of the management API.
type auditCommand struct {
	base
	json      bool
	sinceText string
	since     time.Time
	limit     int
}

// defaultAudit is how many calls are printed unless told otherwise.
const defaultAudit = 100

func (c *auditCommand) flags(fs *flag.FlagSet) int {
	fs.BoolVar(&c.json, "json", false, "one JSON object per call")
	fs.StringVar(&c.sinceText, "since", "", "calls since a time (2026-11-20T23:51:00Z, 2026-11-20) or of the last while (24h)")
	fs.IntVar(&c.limit, "limit", defaultAudit, "the newest so many calls; 0 for all")
	return 0
}

func (c *auditCommand) check() (err error) {
	if c.limit < 0 {
		return errors.New("--limit must be 0 or more")
	}
	c.since, err = sinceTime(c.sinceText, time.Now())
	return err
}

// sinceTime reads a time; "" is the beginning of all.
func sinceTime(s string, now time.Time) (time.Time, error) {
	if s == "" {
		return time.Unix(0, 0), nil
	}
	at, err := timeparse.Parse(s, timeparse.Since, now)
	if err != nil {
		return at, fmt.Errorf("--since: %w", err)
	}
	return at, nil
}

// auditLine is one call as --json prints it.
type auditLine struct {
	N       int64           `json:"n"`
	Time    string          `json:"time"`
	Key     string          `json:"key"` // "operator" for a command at the machine
	Address string          `json:"address"`
	Method  string          `json:"method"`
	Params  json.RawMessage `json:"params"` // null when they were not understood
	SHA256  string          `json:"sha256"` // of the body
	Auth    string          `json:"auth"`
	Outcome string          `json:"outcome"`
	Detail  string          `json:"detail,omitempty"`
}

// Run prints the calls, oldest first, beside a daemon that runs or without one.
func (c *auditCommand) Run(ctx context.Context) (err error) {
	s, err := openAnyVersion(ctx, c.cfg, c.Stderr)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	out := bufio.NewWriter(c.Stdout)
	err = s.AdminAudit(ctx, c.since.Unix(), c.limit, func(call store.AdminCall) error {
		line := auditLine{
			N: call.N, Time: time.Unix(call.At, 0).UTC().Format(time.RFC3339), Key: call.Key, Address: call.Address, Method: call.Method,
			SHA256: hex.EncodeToString(call.Digest[:]), Auth: call.Auth, Outcome: call.Outcome, Detail: call.Detail,
		}
		if call.Key == store.AdminOperator {
			line.Key, line.Auth = "operator", ""
		}
		if call.Params != nil {
			line.Params = json.RawMessage(*call.Params)
		}
		return c.print(out, line)
	})
	return errors.Join(err, out.Flush())
}

// print writes one line. Params and detail are JSON, so that what a caller sent
// cannot steer a terminal.
func (c *auditCommand) print(out *bufio.Writer, l auditLine) error {
	if c.json {
		text, err := json.Marshal(l)
		if err != nil {
			return err
		}
		_, err = out.Write(append(text, '\n'))
		return err
	}
	what := string(l.Params)
	if l.Params == nil {
		what = "sha256:" + l.SHA256
	}
	_, err := fmt.Fprintf(out, "%s  %-10s  %s  %s  %s %s", l.Time, l.Outcome, l.Key, cmp.Or(l.Address, "-"), cmp.Or(l.Method, "-"), what)
	if err == nil && l.Detail != "" {
		_, err = fmt.Fprintf(out, "  %s", l.Detail)
	}
	return errors.Join(err, out.WriteByte('\n'))
}
