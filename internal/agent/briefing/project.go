package briefing

import (
	"strings"
	"time"

	"engramd/internal/agent/hook"
	"engramd/internal/memory/recall/answer"
)

// Heads are what a memory has of projects by their names; "" is none.
func Heads(v answer.View, names ...string) (all []answer.Head) {
	for _, name := range names {
		for _, head := range v.Under(hook.Prefix + name) {
			if hook.Own(head.Slug, name) {
				all = append(all, head)
			}
		}
	}
	return all
}

// Project fills a project's memory in from a view.
func Project(v answer.View, p hook.Memory) hook.Memory {
	p.Units, p.AsOf, p.Stale = nil, v.State().AsOf, v.State().Stale || v.State().Unfinished
	for _, head := range Heads(v, p.Project, p.Old) {
		if v.Index().Truth().Stale(head.Slug) {
			continue
		}
		if text, ok := v.Text(head.Slug); ok {
			p.Units = append(p.Units, hook.Unit{Slug: head.Slug, Text: text, Updated: time.Unix(head.UpdatedAt, 0), Note: note(v, head.Slug)})
		}
	}
	if len(Heads(v, p.Shared)) == 0 {
		p.Shared = ""
	}
	return p
}

// note says how a memory stands, "" for nothing.
func note(v answer.View, slug string) string {
	return strings.Join(v.Index().Truth().Of(slug).Notes(), "; ")
}
