package wake

import (
	"time"

	"engramd/internal/hook"
	"engramd/internal/recollect"
)

// Project fills a project's memory in from a view.
func Project(v recollect.View, p hook.Memory) hook.Memory {
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
