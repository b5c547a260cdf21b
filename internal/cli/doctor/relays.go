package doctor

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/cli/cliutil"
	"engramd/internal/cli/settings"
	"engramd/internal/cli/setup"
	"engramd/internal/client"
	"engramd/nips/nipae"
)

const (
	// skewNoted is how far a relay's clock may be off; beyond skewWrong relays
	// refuse each other's events, and AUTH.
	skewNoted, skewWrong = 20 * time.Second, 5 * time.Minute
	// lately is how old may be what a relay took for it to say that it still does.
	lately = time.Hour
)

// memory looks at the relays of a pair, and at what is kept of it here.
func (d *doctor) memory(ctx context.Context, s settings.Settings) {
	id, err := d.env.Identity(ctx, s)
	if err != nil {
		return // profileAndKey has said so
	}
	results := make([]*doctor, len(s.Relays))
	var running sync.WaitGroup
	for i, url := range s.Relays {
		running.Go(func() {
			one := &doctor{env: d.env}
			one.relay(ctx, id, s, url)
			results[i] = one
		})
	}
	running.Wait()
	answers := false
	for _, one := range results {
		d.found, d.unwritten = append(d.found, one.found...), append(d.unwritten, one.unwritten...)
		for _, f := range one.found {
			answers = answers || f.Check == "auth" && f.State == fine
		}
	}
	if !answers {
		for _, check := range []string{"list", "core", "copy", "missing"} {
			d.add(check, untried, "", "no relay answers this key")
		}
		d.state(ctx, s)
		d.projects(ctx, false)
		return
	}
	d.list(ctx)
	d.core(ctx)
	d.copy(ctx)
	d.missing(ctx, s)
	d.write(ctx, s.Owner, id.PubKey(), d.unwritten)
	d.state(ctx, s)
	d.projects(ctx, true)
}

// relay looks at one relay: what it says of itself, whether it answers this key,
// and whether it takes what it writes.
func (d *doctor) relay(ctx context.Context, id client.Identity, s settings.Settings, url string) {
	c := client.New(id, client.Options{Relays: []string{url}, Timeout: d.env.Flags.Timeout, Patient: true})
	defer c.Close()
	info, err := c.Info(ctx, url)
	open := setup.OpenRelay(d.env, url)
	relay := url
	url = settings.ShownURL(url)
	switch {
	case errors.Is(err, client.ErrMisbehaved):
		d.add("relay", warned, "is it a relay? Ask its operator", "%s says nothing of itself: %v", url, err)
	case err != nil:
		d.fail("relay", fmt.Errorf("%w: %s: %w", client.ErrNoRelay, url, err), "is it running (engramctl setup --local starts one here), and is the network up?")
		return
	case open:
		d.add("relay", warned, "engramctl setup --local asks whether only you and your agents may write there", "%s answers, and takes everybody's events", url)
		compareVersion(d, url, info, d.env.Version)
	default:
		d.add("relay", fine, "", "%s answers: %s %s", url, strings.TrimPrefix(info.Software, "pkg:generic/"), info.Version)
		compareVersion(d, url, info, d.env.Version)
	}
	compareClock(d, url, info.Date, time.Now())
	agent, owner := id.PubKey(), s.Owner
	if s.Agent != "" {
		agent, owner = s.Agent, id.PubKey()
	}
	answers, err := c.Ask(ctx, nostr.Filter{Kinds: []int{nipae.Kind}, Authors: []string{agent}, Tags: nostr.TagMap{"p": {owner}}, Limit: 1})
	if err != nil {
		if len(answers.Relays) == 1 && answers.Relays[0].Err != nil {
			err = fmt.Errorf("%w: %w", err, answers.Relays[0].Err)
		}
		d.fail("auth", fmt.Errorf("%s: %w", url, err), "ask its operator to let this key in (engramctl key show prints its public half)")
		return
	}
	d.add("auth", fine, "", "%s answers this key", url)
	if s.Agent != "" {
		d.add("write", untried, "", "%s: the key is an owner's, who only reads", url)
		return
	}
	d.writable(ctx, c, relay, owner, answers.Events)
}

// writable sends a relay once more what it took lately, which any bound on who may write
// refuses. Where there is nothing of the kind a memory is written, once all relays were
// looked at.
func (d *doctor) writable(ctx context.Context, c *client.Client, relay, owner string, has []*nostr.Event) {
	if len(has) == 0 || time.Since(has[0].CreatedAt.Time()) > lately {
		d.unwritten = append(d.unwritten, relay)
		return
	}
	_, err := c.Publish(ctx, has[0])
	if errors.Is(err, client.ErrConflict) {
		err = nil
	}
	d.written(relay, owner, c.Identity().PubKey(), err, "what it took at "+cliutil.Stamp(int64(has[0].CreatedAt))+", sent once more")
}

// written says whether a relay took something.
func (d *doctor) written(relay, owner, agent string, err error, what string) {
	if url := settings.ShownURL(relay); err != nil {
		d.fail("write", fmt.Errorf("%s: %w", url, err), "ask its operator to list the owner, "+settings.Npub(owner)+"; then the owner runs engramctl agents allow "+settings.Npub(agent)+", with the owner's key")
	} else {
		d.add("write", fine, "", "%s takes %s", url, what)
	}
}

// write writes a memory as setup does, for relays that took none lately.
func (d *doctor) write(ctx context.Context, owner, agent string, relays []string) {
	if len(relays) == 0 {
		return
	}
	if slices.ContainsFunc(d.found, func(f finding) bool { return (f.Check == "core" || f.Check == "missing") && f.State == failed }) {
		d.add("write", untried, "", "nothing is written beside what is missing, or cannot be read")
		return
	}
	status, err := setup.Try(ctx, d.env)
	for _, relay := range relays {
		at := slices.IndexFunc(status.Published, func(p client.PublishStatus) bool { return p.URL == relay })
		said := err
		if at >= 0 && (status.Published[at].Accepted || status.Published[at].Superseded) {
			said = nil
		} else if at >= 0 {
			said = status.Published[at].Err
		}
		d.written(relay, owner, agent, said, "a memory, which stands at mem/sys/setup")
	}
}

// compareClock compares a relay's time with ours.
func compareClock(d *doctor, url string, theirs, ours time.Time) {
	if theirs.IsZero() {
		d.add("clock", untried, "", "%s does not tell its time", url)
		return
	}
	off := ours.Sub(theirs).Round(time.Second)
	text, remedy := "%s: this machine is %v %s", "set the clock of this machine (timedatectl set-ntp true), or tell the relay's operator"
	way := "ahead"
	if off < 0 {
		off, way = -off, "behind"
	}
	switch {
	case off >= skewWrong:
		d.fail("clock", fmt.Errorf(text+": what it writes is refused, or hides later memories", url, off, way), remedy)
	case off >= skewNoted:
		d.add("clock", warned, remedy, text, url, off, way)
	default:
		d.add("clock", fine, "", "%s has the time of this machine", url)
	}
}

// compareVersion compares a relay's version with ours, this program's.
func compareVersion(d *doctor, url string, info client.RelayInfo, ours string) {
	theirs, ours := strings.TrimPrefix(info.Version, "v"), strings.TrimPrefix(ours, "v")
	if !strings.Contains(info.Software, "engramd") {
		d.add("version", warned, "an engramd keeps memories from everybody else, and decides between writers", "%s is no engramd", url)
		return
	}
	if theirs != ours && (theirs == cliutil.Unreleased || ours == cliutil.Unreleased) {
		d.add("version", untried, "", "%s is engramd %s, and this is engramctl %s: a build that has no version is not compared", url, info.Version, ours)
		return
	}
	if theirs != ours {
		d.add("version", warned, "bring the older one up to date", "%s is engramd %s, and this is engramctl %s", url, info.Version, ours)
		return
	}
	d.add("version", fine, "", "%s and engramctl are both %s", url, ours)
}
