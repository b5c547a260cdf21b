package foreign

import (
	"path"
	"slices"
	"strings"
)

// readHermes reads MEMORY.md and USER.md, of which each entry, between lines of
// "§", is a memory.
func readHermes(r *reader) {
	r.files(func(dir string) bool {
		top, _, _ := strings.Cut(dir, "/")
		return top == "memories" || top == "profiles"
	}, func(name string) {
		base := path.Base(name)
		if base != "MEMORY.md" && base != "USER.md" {
			r.leaveFile(name)
			return
		}
		text, ok := r.text(name)
		if !ok {
			return
		}
		var group []string
		if all := strings.Split(name, "/"); len(all) > 2 && all[0] == "profiles" {
			group = []string{folderName("", all[1])}
		}
		kind := strings.ToLower(stem(name))
		seen := map[string]bool{}
		for entry := range strings.SplitSeq("\n"+strings.ReplaceAll(text, "\r\n", "\n")+"\n", "\n§\n") {
			if entry = strings.TrimSpace(entry); entry == "" || seen[entry] { // Hermes itself drops an entry that is there twice
				continue
			}
			seen[entry] = true
			d := &draft{file: name, part: hashOf(entry), slug: append(slices.Clone(group), kind, told(entry, entry)), text: entry + "\n"}
			if kind == "user" {
				d.tags = []string{"user"}
			}
			r.add(d)
		}
	})
}
