package foreign

import (
	"encoding/json"
	"path"
	"strings"
)

// graphLine is one line of server-memory's file.
type graphLine struct {
	Type         string            `json:"type"`
	Name         string            `json:"name"`
	EntityType   string            `json:"entityType"`
	Observations []json.RawMessage `json:"observations"`
	From         string            `json:"from"`
	To           string            `json:"to"`
	RelationType string            `json:"relationType"`
}

// readMCPMemory reads lines of entities and relations. An entity becomes a
// memory: its observations as a list, its relations below them.
func readMCPMemory(r *reader) {
	r.files(nil, func(name string) {
		if ext := strings.ToLower(path.Ext(name)); r.only == "" && ext != ".jsonl" && ext != ".json" {
			r.leaveFile(name)
			return
		}
		r.graph(name)
	})
}

func (r *reader) graph(name string) {
	entities, texts := map[string]*draft{}, map[string]*strings.Builder{}
	var order []string
	var relations []graphLine
	var at []int
	r.lines(name, func(n int, line []byte) {
		var g graphLine
		if err := json.Unmarshal(line, &g); err != nil {
			r.leave(place(name, n), "not a line of a knowledge graph")
			return
		}
		switch {
		case g.Type == "entity" && strings.TrimSpace(g.Name) != "":
			d := entities[g.Name]
			if d == nil {
				d = &draft{file: name, part: g.Name, slug: []string{g.Name}, names: []string{g.Name}, tags: []string{g.EntityType}}
				texts[g.Name] = &strings.Builder{}
				texts[g.Name].WriteString("# " + shown(g.Name) + "\n\n")
				entities[g.Name], order = d, append(order, g.Name)
			}
			for _, raw := range g.Observations {
				var text string
				if err := json.Unmarshal(raw, &text); err != nil {
					r.leave(place(name, n), "an observation of %s that is no text", g.Name)
					continue
				}
				texts[g.Name].WriteString(listItem(text))
			}
		case g.Type == "relation" && g.From != "" && g.To != "":
			relations, at = append(relations, g), append(at, n)
		default:
			r.leave(place(name, n), "neither an entity nor a relation")
		}
	})
	for i, g := range relations {
		if d := entities[g.From]; d != nil {
			d.relations = append(d.relations, relation{g.RelationType, g.To})
		} else {
			r.leave(place(name, at[i]), "a relation of %s, which is no entity here", g.From)
		}
	}
	for _, key := range order {
		entities[key].text = texts[key].String()
		r.add(entities[key])
	}
}

// listItem is a text as an item of a list.
func listItem(text string) string {
	return "- " + strings.ReplaceAll(strings.TrimSpace(text), "\n", "\n  ") + "\n"
}

// lines calls visit for each line of a file that is not blank, counted from 1.
func (r *reader) lines(name string, visit func(n int, line []byte)) {
	raw, ok := r.read(name, maxExport)
	if !ok {
		return
	}
	n := 0
	for line := range strings.Lines(string(raw)) {
		n++
		line = strings.TrimSpace(line)
		switch why := notText(line); {
		case line == "":
		case len(line) > maxLine:
			r.leave(place(name, n), "a line of more than %d bytes", maxLine)
		case why != "":
			r.leave(place(name, n), "%s", why)
		default:
			visit(n, []byte(line))
		}
	}
}

func place(name string, line int) string { return name + ":" + number(line) }
