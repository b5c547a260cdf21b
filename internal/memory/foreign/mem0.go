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

// mem0Memory reads one memory.
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

// mem0Word is a plain value as a word.
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
