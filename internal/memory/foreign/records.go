package foreign

import (
	"bytes"
	"cmp"
	"encoding/json"
	"maps"
	"path"
	"slices"
	"strings"
	"unicode"

	"engramd/nips/frontmatter"
)

// mem0Memory is one memory, as the platform's API and the library give it.
type mem0Memory struct {
	ID         string         `json:"id"`
	Memory     string         `json:"memory"`
	Text       string         `json:"text"`
	UserID     string         `json:"user_id"`
	AgentID    string         `json:"agent_id"`
	AppID      string         `json:"app_id"`
	RunID      string         `json:"run_id"`
	Categories []string       `json:"categories"`
	Metadata   map[string]any `json:"metadata"`
	CreatedAt  string         `json:"created_at"`
}

// mem0File is an answer of get_all, or an export.
type mem0File struct {
	Results   []json.RawMessage `json:"results"`
	Memories  []json.RawMessage `json:"memories"`
	Relations []struct {
		Source       string `json:"source"`
		Relationship string `json:"relationship"`
		Target       string `json:"target"`
	} `json:"relations"`
}

// readMem0 reads JSON: a list, an object with results or memories, or an object
// on each line.
func readMem0(r *reader) {
	r.files(nil, func(name string) {
		switch ext := strings.ToLower(path.Ext(name)); {
		case ext == ".jsonl" || ext == ".ndjson":
			r.lines(name, func(n int, line []byte) { r.mem0Memory(name, "line "+number(n), line) })
		case ext == ".json" || r.only != "":
			r.mem0JSON(name)
		default:
			r.leaveFile(name)
		}
	})
}

func (r *reader) mem0JSON(name string) {
	raw, ok := r.export(name)
	if !ok {
		return
	}
	var f mem0File
	var list []json.RawMessage
	var err error
	if raw = bytes.TrimSpace(raw); bytes.HasPrefix(raw, []byte("[")) {
		err = json.Unmarshal(raw, &list)
	} else {
		err = json.Unmarshal(raw, &f)
	}
	if err != nil {
		r.leave(name, "not an export of mem0: want a JSON list of memories, or an object with results or memories")
		return
	}
	if len(list)+len(f.Results)+len(f.Memories)+len(f.Relations) == 0 {
		r.leave(name, "there are no memories in it")
	}
	for i, one := range slices.Concat(list, f.Results, f.Memories) {
		r.mem0Memory(name, number(i+1), one)
	}
	if len(f.Relations) > 0 {
		var text strings.Builder
		text.WriteString("# Relations\n\n")
		for _, rel := range f.Relations {
			text.WriteString(listItem(strings.Join([]string{rel.Source, rel.Relationship, rel.Target}, " ")))
		}
		r.add(&draft{file: name, part: "relations", slug: []string{"relations"}, description: "Relations of mem0's graph", text: text.String()})
	}
}

func (r *reader) mem0Memory(name, at string, raw []byte) {
	var m mem0Memory
	if err := json.Unmarshal(raw, &m); err != nil {
		r.leave(name+"#"+at, "not a memory: %s", "id, memory and created_at must be texts, categories a list, metadata an object")
		return
	}
	text := cmp.Or(m.Memory, m.Text)
	d := &draft{file: name, part: cmp.Or(m.ID, hashOf(text)), tags: m.Categories, when: mem0Time(m.CreatedAt), text: text + "\n"}
	if strings.TrimSpace(text) == "" {
		r.leave(name+"#"+at, "a memory without a text")
		return
	}
	d.slug = []string{cmp.Or(m.UserID, m.AgentID, m.AppID, "all"), told(text, cmp.Or(m.ID, text))}
	if m.ID != "" {
		d.id = hashOf(m.ID)
	}
	if m.UserID != "" {
		d.who = []string{m.UserID}
	}
	var pairs []frontmatter.Pair
	for _, key := range slices.Sorted(maps.Keys(m.Metadata)) {
		word := mem0Word(m.Metadata[key])
		switch {
		case key == "type" && word != "":
			d.kind = word
		case word != "" && len(key) < 64 && !strings.ContainsFunc(key, func(c rune) bool { return !unicode.IsLetter(c) && !unicode.IsDigit(c) && c != '_' && c != '-' }):
			pairs = append(pairs, frontmatter.Pair{Key: key, Value: cutLine(shown(word), 300)})
		default:
			r.leave(d.from(), "metadata %s, which is no word or number", key)
		}
	}
	for key, id := range map[string]string{"agent_id": m.AgentID, "app_id": m.AppID, "run_id": m.RunID} {
		if id != "" {
			pairs = append(pairs, frontmatter.Pair{Key: key, Value: cutLine(shown(id), 300)})
		}
	}
	if len(pairs) > 0 {
		slices.SortFunc(pairs, func(a, b frontmatter.Pair) int { return cmp.Compare(a.Key, b.Key) })
		d.fields = append(d.fields, frontmatter.Field{Key: "mem0", Value: frontmatter.Mapping(pairs...)})
	}
	r.add(d)
}

func mem0Word(v any) string {
	switch v := v.(type) {
	case string:
		return strings.TrimSpace(v)
	case bool, float64:
		text, err := json.Marshal(v)
		if err == nil {
			return string(text)
		}
	}
	return ""
}

// mem0Time is a time to the second: the library writes fractions, and offsets of
// its machine.
func mem0Time(s string) string {
	if len(s) > 19 && s[19] == '.' {
		rest := strings.TrimLeft(s[20:], "0123456789")
		s = s[:19] + rest
	}
	return s
}

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
