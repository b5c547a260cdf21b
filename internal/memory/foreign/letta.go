package foreign

import (
	"cmp"
	"encoding/json"
	"path"
	"slices"
	"strings"

	"engramd/nips/frontmatter"
)

// lettaBlock is a block of memory, or a passage of an agent's archive.
type lettaBlock struct {
	ID          string   `json:"id"`
	Label       string   `json:"label"`
	Value       string   `json:"value"`
	Description string   `json:"description"`
	Text        string   `json:"text"` // of a passage
	Tags        []string `json:"tags"`
	CreatedAt   string   `json:"created_at"`
}

// lettaFile is an agent file: today's, with agents and blocks apart, or the older
// one, which is one agent with its core memory.
type lettaFile struct {
	Agents []struct {
		Name     string            `json:"name"`
		BlockIDs []string          `json:"block_ids"`
		Messages []json.RawMessage `json:"messages"`
	} `json:"agents"`
	Blocks     []lettaBlock      `json:"blocks"`
	Name       string            `json:"name"`
	CoreMemory []lettaBlock      `json:"core_memory"`
	Messages   []json.RawMessage `json:"messages"`
	Files      []json.RawMessage `json:"files"`
	Tools      []json.RawMessage `json:"tools"`
}

// readLetta reads agent files, lists of blocks or passages as the API gives them,
// and the Markdown of a memory folder, whose system/ is always in the context.
func readLetta(r *reader) {
	r.files(func(dir string) bool { return !strings.HasPrefix(path.Base(dir), ".") }, func(name string) {
		switch ext := strings.ToLower(path.Ext(name)); {
		case ext == ".af" || ext == ".json":
			r.lettaJSON(name)
		case isNote(name):
			if text, ok := r.text(name); ok {
				group, rest := lettaFolder(name)
				d := &draft{file: name, slug: append(group, foldersOf(rest)...), text: text, names: []string{rest}}
				if first, _, below := strings.Cut(rest, "/"); below && (first == "system" || first == "user") {
					d.tags = []string{first}
				} else if below && first == "skills" {
					d.kind = string(frontmatter.Procedural)
				}
				r.add(d)
			}
		default:
			r.leaveFile(name)
		}
	})
}

// lettaFolder takes a path below agents/ID/memory apart, or a part of that.
func lettaFolder(name string) (group []string, rest string) {
	before, rest, ok := strings.Cut("/"+name, "/memory/")
	if !ok {
		return nil, name
	}
	if before = strings.Trim(before, "/"); before != "" {
		for folder := range strings.SplitSeq(before, "/") {
			group = append(group, folderName("", folder))
		}
	}
	return group, rest
}

func (r *reader) lettaJSON(name string) {
	raw, ok := r.export(name)
	if !ok {
		return
	}
	var list []lettaBlock
	if err := json.Unmarshal(raw, &list); err == nil {
		for i, b := range list {
			r.lettaBlock(name, nil, i, b)
		}
		return
	}
	var f lettaFile
	if err := json.Unmarshal(raw, &f); err != nil {
		r.leave(name, "neither an agent file nor a list of blocks")
		return
	}
	if len(f.Blocks)+len(f.CoreMemory) == 0 {
		r.leave(name, "there are no blocks of memory in it")
	}
	messages := len(f.Messages)
	owner := map[string]string{}
	for _, a := range f.Agents {
		messages += len(a.Messages)
		for _, id := range a.BlockIDs {
			if owner[id] == "" {
				owner[id] = a.Name
			}
		}
	}
	for i, b := range f.Blocks {
		r.lettaBlock(name, []string{cmp.Or(owner[b.ID], "shared")}, i, b)
	}
	for i, b := range f.CoreMemory {
		r.lettaBlock(name, []string{cmp.Or(f.Name, stem(name))}, i, b)
	}
	for _, rest := range []struct {
		what string
		n    int
	}{{"messages", messages}, {"files", len(f.Files)}, {"tools", len(f.Tools)}} {
		if rest.n > 0 {
			r.leave(name, "%d %s, which are not memory", rest.n, rest.what)
		}
	}
}

func (r *reader) lettaBlock(name string, group []string, i int, b lettaBlock) {
	d := &draft{file: name, part: cmp.Or(b.Label, b.ID, number(i+1)), description: b.Description, tags: b.Tags, when: b.CreatedAt}
	switch {
	case b.Value != "":
		d.text, d.slug = b.Value, append(slices.Clone(group), strings.Split(cmp.Or(b.Label, b.ID, number(i+1)), "/")...)
		d.names = []string{b.Label}
	case b.Text != "":
		d.text, d.slug = b.Text, append(slices.Clone(group), "passages", told(b.Text, cmp.Or(b.ID, b.Text)))
		if b.ID != "" {
			d.id = hashOf(b.ID)
		}
	default:
		r.leave(d.from(), "a block without a text")
		return
	}
	d.text = strings.TrimRight(d.text, "\n") + "\n"
	r.add(d)
}
