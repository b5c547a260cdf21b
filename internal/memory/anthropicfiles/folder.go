package anthropicfiles

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// MaxListed is how many lines the listing of a folder has.
const MaxListed = 1000

// levels is how deep a listing looks.
const levels = 2

// File is a file of a folder.
type File struct {
	Path     Path
	Size     int // of its body
	External bool
}

// Within returns the files of a folder and of those in it, by path.
func Within(files []File, folder Path) []File {
	var all []File
	for _, f := range files {
		if f.Path.In(folder) && !f.Path.Reserved() {
			all = append(all, f)
		}
	}
	slices.SortFunc(all, func(a, b File) int { return cmp.Compare(a.Path, b.Path) })
	return all
}

// item is one line of a listing.
type item struct {
	name     string
	size     int
	external bool
	folder   bool
	items    []*item
	folders  map[string]*item // those of items that are
}

// List shows the files that Within gave for a folder, and the folders. What begins
// with a dot is left out. The size of a folder is that of all that is shown as in it.
func List(folder Path, files []File) string {
	root := &item{folder: true, folders: map[string]*item{}}
	for _, f := range files {
		root.add(strings.Split(strings.TrimPrefix(string(f.Path), string(folder)+"/"), "/"), f)
	}
	lines := root.lines(string(folder), 1, nil)
	var b strings.Builder
	fmt.Fprintf(&b, "Here're the files and directories up to 2 levels deep in %s, excluding hidden items:\n%s\t%s", folder, Size(root.size), folder)
	for i, line := range lines {
		if i == MaxListed {
			fmt.Fprintf(&b, "\n(%d more are not shown. View a directory by itself.)", len(lines)-MaxListed)
			break
		}
		b.WriteString("\n" + line)
	}
	return b.String()
}

// add puts a file where its parts lead. A file and a folder of one name are two.
func (it *item) add(parts []string, f File) {
	if slices.ContainsFunc(parts, func(p string) bool { return strings.HasPrefix(p, ".") }) {
		return
	}
	it.size += f.Size
	if len(parts) == 1 {
		it.items = append(it.items, &item{name: parts[0], size: f.Size, external: f.External})
		return
	}
	inner := it.folders[parts[0]]
	if inner == nil {
		inner = &item{name: parts[0], folder: true, folders: map[string]*item{}}
		it.items, it.folders[parts[0]] = append(it.items, inner), inner
	}
	inner.add(parts[1:], f)
}

func (it *item) lines(at string, level int, all []string) []string {
	slices.SortStableFunc(it.items, func(a, b *item) int { return cmp.Compare(a.name, b.name) })
	for _, o := range it.items {
		line := Size(o.size) + "\t" + at + "/" + o.name
		switch {
		case o.folder:
			all = append(all, line+"/")
			if level < levels {
				all = o.lines(at+"/"+o.name, level+1, all)
			}
		case o.external:
			all = append(all, line+"\t(external)")
		default:
			all = append(all, line)
		}
	}
	return all
}
