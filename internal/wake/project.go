package wake

import (
	"slices"
	"strings"
	"time"

	"engramd/internal/hook"
	"engramd/internal/recollect"
)

// Project fills a project's memory in from a view.
func Project(v recollect.View, p hook.Memory) hook.Memory {
	p.Units, p.AsOf, p.Stale = nil, v.State().AsOf, v.State().Stale || v.State().Unfinished
	for _, head := range append(v.Under(hook.Prefix+p.Project), before(v, p.Old)...) {
		if !hook.Own(head.Slug, p.Project, p.Old) || v.Index().Stale(head.Slug) {
			continue
		}
		if text, ok := v.Text(head.Slug); ok {
			p.Units = append(p.Units, hook.Unit{Slug: head.Slug, Text: text, Updated: time.Unix(head.UpdatedAt, 0), Note: note(v, head.Slug)})
		}
	}
	if !slices.ContainsFunc(before(v, p.Shared), func(h recollect.Head) bool { return hook.Own(h.Slug, p.Shared) }) {
		p.Shared = ""
	}
	return p
}

// note says how a memory stands, "" for nothing.
func note(v recollect.View, slug string) string {
	return strings.Join(v.Index().Standing(slug).Notes(), "; ")
}

// before are the heads at a project's old name, if it reads them.
func before(v recollect.View, old string) []recollect.Head {
	if old == "" {
		return nil
	}
	return v.Under(hook.Prefix + old)
}
