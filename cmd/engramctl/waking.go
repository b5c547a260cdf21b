package main

import (
	"context"
	"errors"
	"time"

	"engramd/internal/client"
	"engramd/internal/hook"
	"engramd/internal/recollect"
	"engramd/internal/wake"
	"engramd/nips/nipae"
)

// core is the section with the core as the relays have it, and what was shown.
func (w *waking) core(ctx context.Context) (hook.Section, []hook.Unit, error) {
	entry, status, err := w.m.Get(ctx, nipae.Core)
	absent := errors.Is(err, client.ErrNotFound)
	if absent {
		err = mayBegin(ctx, w.m)
	}
	if err := w.a.report(status, err); err != nil {
		return hook.Section{}, nil, err
	}
	if absent {
		return hook.Core(coreHint, ""), nil, nil
	}
	partial := ""
	if status.Partial {
		partial = corePartial
	}
	return hook.Core(entry.Text, partial), []hook.Unit{{Slug: string(nipae.Core), Text: entry.Text}}, nil
}

// unconfirmed is the section with the core of the local copy, where the relays
// did not give one; failed if they said something of it, or there is none here.
func (w *waking) unconfirmed(ctx context.Context, failed error) (section hook.Section, seen []hook.Unit, err error) {
	if code := codeOf(failed); w.kept == nil || code != exitRelay && code != exitAuth {
		return section, nil, failed
	}
	err = failed
	reading := w.kept.source().Read(ctx, func(v recollect.View) error {
		if text, ok := v.Text(string(nipae.Core)); ok {
			section, err = hook.Unconfirmed(text, v.State().AsOf), nil
			seen = []hook.Unit{{Slug: string(nipae.Core), Text: text}}
		}
		return nil
	})
	if reading != nil {
		return section, nil, failed
	}
	return section, seen, err
}

// remembered is what the local copy has of the project, and what else a session
// begins with, as far as it was found before enough ends.
func (w *waking) remembered(ctx, enough context.Context) (hook.Memory, wake.Start) {
	p := hook.Memory{Project: w.project.Name, Linked: w.linked}
	if w.kept == nil {
		return p, wake.Start{}
	}
	o := wake.Options{Now: time.Now(), Project: w.project.Name, Linked: w.linked}
	if w.state != nil {
		w.aside(enough, func(ctx context.Context) { o.Uses, _ = usesIn(ctx, w.state) }) // not known: none
	}
	var found hook.Memory
	var start wake.Start
	err := w.kept.source().Read(ctx, func(v recollect.View) error {
		found, start = p, wake.Start{}
		if p.Project != "" {
			found = memoryOf(v, p)
		}
		start = wake.Of(enough, v, o)
		return nil
	})
	if err != nil {
		w.a.note("what is remembered beside the core is not known: %v", err)
		return p, wake.Start{}
	}
	return found, start
}

// memoryOf fills a project's memory in from a view.
func memoryOf(v recollect.View, p hook.Memory) hook.Memory {
	p.Units, p.AsOf, p.Stale = nil, v.State().AsOf, v.State().Stale || v.State().Unfinished
	for _, head := range v.Under(hook.Prefix + p.Project) {
		if !hook.Own(head.Slug, p.Project) {
			continue
		}
		if text, ok := v.Text(head.Slug); ok {
			p.Units = append(p.Units, hook.Unit{Slug: head.Slug, Text: text, Updated: time.Unix(head.UpdatedAt, 0)})
		}
	}
	return p
}
