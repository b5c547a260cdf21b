package recall

import (
	"strings"
	"time"

	"engramd/internal/memory/intentions"
)

// maxComing is how many intentions come with one answer.
const maxComing = 5

// comingOut is an intention that comes up, in JSON.
type comingOut struct {
	Slug   string `json:"slug"`
	Why    string `json:"why"`
	Text   string `json:"text"`
	Action string `json:"action,omitempty"`
	Due    string `json:"due,omitempty"`
}

func comingOf(items []intentions.Item) (all []comingOut) {
	for _, i := range items {
		out := comingOut{Slug: i.Slug, Why: i.Why(), Text: i.Title, Action: i.Action}
		if !i.Occurrence.Due.IsZero() {
			out.Due = i.Occurrence.Due.Format(time.RFC3339)
		}
		all = append(all, out)
	}
	return all
}

// linesOf is the same for people and models.
func linesOf(items []intentions.Item) string {
	if len(items) == 0 {
		return ""
	}
	var out strings.Builder
	out.WriteString("## intentions (what you meant to do)\n")
	for _, i := range items {
		out.WriteString(i.Line())
	}
	return out.String()
}
