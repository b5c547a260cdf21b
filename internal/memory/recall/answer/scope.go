package answer

import (
	"fmt"
	"strings"

	"engramd/internal/memory/recall"
)

// Scope says in which project a question is asked: see recall.Scope.
type Scope = recall.Scope

const projects = "mem/projects/"

// within bounds a query that was read to its scope. A prefix below one project asks
// for that.
func (q *Query) within(v View, asked *recall.Query) {
	s, prefix := q.Scope, begin(q.Prefix)
	if !strings.HasPrefix(prefix, "mem/") {
		prefix = "mem/" + prefix
	}
	s.All = s.All || len(prefix) > len(projects) && strings.HasPrefix(prefix, projects)
	asked.Within = v.Index().Within(s, q.Text)
}

// others counts what the scope of a query leaves out and find finds.
func others(v View, asked recall.Query, find func(recall.Query) int) int {
	rest, some := asked.Within.Rest()
	if asked.Within = rest; !some || v.Index().Count(asked.Filter) == 0 {
		return 0
	}
	return find(asked)
}

// elsewhere is the last line of a block from which so many were left out.
func (q *Query) elsewhere(n int) string {
	switch {
	case n == 0:
		return ""
	case len(q.Scope.Own) == 0: // of no linked folder: an agent that asks gets them
		return fmt.Sprintf("(%d in projects: memory_recall)\n", n)
	}
	return fmt.Sprintf("(%d in other projects: all_projects)\n", n)
}
