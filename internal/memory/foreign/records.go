package foreign

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"path"
	"slices"
	"strings"
	"unicode"

	"engramd/nips/frontmatter"
)

// mem0Memory is one memory, as the platform's API and the library give it.
type mem0Memory struct {
	ID         ident          `json:"id"`
	Memory     string         `json:"memory"`
	Text       string         `json:"text"`
	UserID     ident          `json:"user_id"`
	AgentID    ident          `json:"agent_id"`
	AppID      ident          `json:"app_id"`
	RunID      ident          `json:"run_id"`
	Categories []string       `json:"categories"`
	Metadata   map[string]any `json:"metadata"`
	CreatedAt  string         `json:"created_at"`
	Expires    ident          `json:"expiration_date"`
}

// ident is a text, or a number as it is written: stores count their rows.
type ident string

func (id *ident) UnmarshalJSON(raw []byte) error {
	var text string
	if err := json.Unmarshal(raw, &text); err == nil {
		*id = ident(text)
		return nil
	}
	var n json.Number
	err := json.Unmarshal(raw, &n)
	*id = ident(n)
	return err
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
			r.values(name, func(n int, value []byte) {
				if mem0Many(value) {
					r.mem0JSON(name, value)
				} else {
					r.mem0Memory(name, "line "+number(n), value)
				}
			})
		case ext == ".json" || r.only != "":
			if raw, ok := r.export(name); ok {
				r.mem0JSON(name, raw)
			}
		default:
			r.leaveFile(name)
		}
	})
}

// mem0Many reports whether a value is a list or an answer, and no memory.
func mem0Many(value []byte) bool {
	var f struct{ Results, Memories []json.RawMessage }
	return bytes.HasPrefix(value, []byte("[")) || json.Unmarshal(value, &f) == nil && (f.Results != nil || f.Memories != nil)
}

func (r *reader) mem0JSON(name string, raw []byte) {
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
		r.leave(name+"#"+at, "not a memory: %s", "id must be a text or a number, memory and created_at texts, categories a list, metadata an object")
		return
	}
	text := cmp.Or(m.Memory, m.Text)
	d := &draft{file: name, part: cmp.Or(string(m.ID), hashOf(text)), tags: m.Categories, when: mem0Time(m.CreatedAt), text: text + "\n"}
	if strings.TrimSpace(text) == "" {
		r.leave(name+"#"+at, "a memory without a text")
		return
	}
	d.slug = []string{string(cmp.Or(m.UserID, m.AgentID, m.AppID, "all")), told(text, cmp.Or(string(m.ID), text))}
	if m.ID != "" {
		d.id = hashOf(string(m.ID))
	}
	if m.UserID != "" {
		d.who = []string{string(m.UserID)}
	}
	if m.Expires != "" { // a claim: what is imported does not expire by itself
		d.fields = append(d.fields, frontmatter.Field{Key: "expires_claimed", Value: frontmatter.String(cutLine(shown(string(m.Expires)), 64))})
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
	for key, id := range map[string]ident{"agent_id": m.AgentID, "app_id": m.AppID, "run_id": m.RunID} {
		if id != "" {
			pairs = append(pairs, frontmatter.Pair{Key: key, Value: cutLine(shown(string(id)), 300)})
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

// graphValue is an entity or a relation.
type graphValue struct {
	Type         string            `json:"type"`
	Name         string            `json:"name"`
	EntityType   string            `json:"entityType"`
	Observations []json.RawMessage `json:"observations"`
	From         maybe             `json:"from"`
	To           maybe             `json:"to"`
	RelationType string            `json:"relationType"`
}

// maybe is a text, "" for anything else: an entity may have a member of that name.
type maybe string

func (m *maybe) UnmarshalJSON(raw []byte) error {
	var text string
	if json.Unmarshal(raw, &text) == nil {
		*m = maybe(text)
	}
	return nil
}

// graphValues are those of a value in server-memory's file: it, or in what people keep of
// that the values of a list, or of what read_graph gives.
func graphValues(raw []byte) (all []json.RawMessage) {
	var whole struct{ Entities, Relations []json.RawMessage }
	if json.Unmarshal(raw, &all) == nil && all != nil {
		return all
	}
	if json.Unmarshal(raw, &whole) == nil && whole.Entities != nil {
		return slices.Concat(whole.Entities, whole.Relations)
	}
	return []json.RawMessage{raw}
}

// readMCPMemory reads entities and relations. An entity becomes a memory: its
// observations as a list, its relations below them.
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
	var order, at []string
	var relations []graphValue
	take := func(where string, raw []byte) {
		var g graphValue
		err := json.Unmarshal(raw, &g)
		switch { // read_graph may leave the type out
		case err != nil:
			r.leave(where, "not a line of a knowledge graph")
		case (g.Type == "entity" || g.Type == "") && strings.TrimSpace(g.Name) != "":
			d := entities[g.Name]
			if d == nil {
				d = &draft{file: name, part: g.Name, slug: []string{g.Name}, names: []string{g.Name}, tags: []string{g.EntityType}}
				texts[g.Name] = &strings.Builder{}
				texts[g.Name].WriteString("# " + shown(g.Name) + "\n\n")
				entities[g.Name], order = d, append(order, g.Name)
			}
			for _, raw := range g.Observations {
				var text string
				if err := json.Unmarshal(raw, &text); err != nil || text == "" {
					r.leave(where, "an observation of %s that is no text", g.Name)
					continue
				}
				texts[g.Name].WriteString(listItem(text))
			}
		case (g.Type == "relation" || g.Type == "") && g.From != "" && g.To != "":
			relations, at = append(relations, g), append(at, where)
		default:
			r.leave(where, "neither an entity nor a relation")
		}
	}
	r.values(name, func(n int, raw []byte) {
		all := graphValues(raw)
		for i, one := range all {
			where := place(name, n)
			if len(all) > 1 {
				where += " (" + number(i+1) + ")"
			}
			take(where, one)
		}
	})
	for i, g := range relations {
		if d := entities[string(g.From)]; d != nil {
			d.relations = append(d.relations, relation{g.RelationType, string(g.To)})
		} else {
			r.leave(at[i], "a relation of %s, which is no entity here", g.From)
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

// values calls visit for each value of JSON in a file, with the line on which it
// begins, from 1: the one that the file is or those that follow each other in it, on
// however many lines; of a file with anything else in it those of each line, since two
// writers at once leave no line end between theirs. The rest of a line that is none comes too.
func (r *reader) values(name string, visit func(n int, value []byte)) {
	raw, ok := r.read(name, maxExport)
	if !ok {
		return
	}
	if notText(string(raw)) == "" {
		if json.Valid(raw) {
			visit(1, bytes.TrimSpace(raw))
			return
		}
		if sequence(raw, func(int, []byte) {}) {
			sequence(raw, func(n int, value []byte) {
				if len(value) > maxLine {
					r.leave(place(name, n), "a value of more than %d bytes", maxLine)
					return
				}
				visit(n, value)
			})
			return
		}
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
			in := json.NewDecoder(strings.NewReader(line))
			for from := int64(0); from < int64(len(line)); from = in.InputOffset() {
				var value json.RawMessage
				if err := in.Decode(&value); err != nil {
					visit(n, []byte(line[from:]))
					break
				}
				visit(n, value)
			}
		}
	}
}

// sequence calls visit for one value of JSON after the other, and reports whether there
// is nothing else. It holds one at a time.
func sequence(raw []byte, visit func(n int, value []byte)) bool {
	in := json.NewDecoder(bytes.NewReader(raw))
	for n, at := 1, 0; ; {
		var value json.RawMessage
		if err := in.Decode(&value); err != nil {
			return errors.Is(err, io.EOF)
		}
		end := int(in.InputOffset())
		n += bytes.Count(raw[at:end-len(value)], []byte("\n"))
		visit(n, value)
		n += bytes.Count(value, []byte("\n"))
		at = end
	}
}

func place(name string, line int) string { return name + ":" + number(line) }
