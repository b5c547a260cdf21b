// Package project says which project a folder is of, by a name that may stand in
// a slug: host, owner and name of its git remote "origin", one level each, or the
// name of the folder with a hash of its path.
//
// It reads .git/config itself and runs nothing: no include is followed, no
// program of the folder is started, and every file that it looks at is a regular
// one, of which a bounded part is read. Whoever made the folder chooses what is in
// there, and so can take the name of any project: a name is a claim, and proves
// nothing. What lies elsewhere is looked at only where it proves that it belongs
// to the folder: see Of.
package project

import (
	"path/filepath"
	"strings"
)

// Project is what a folder is of.
type Project struct {
	Folder string // its top, absolute, without symbolic links
	// Clone is what a link is kept for: the top of the clone of which the folder is a
	// further work tree, else Folder.
	Clone string
	// Name is the path of the memory below Prefix: three levels of a remote, one of a
	// folder without. 32 bits of a hash tell two remotes apart, which is against chance,
	// and no proof: a name is a claim. No name lies below another.
	Name string
	// Remote is host and path of the remote, as they are but for the case where that
	// says nothing; "" without one.
	Remote string
	// Last is the last level as people write it, in letters of a slug.
	Last string
	// Old is the name that earlier versions gave a folder with a remote, one level;
	// other remotes may have it too. "" without one.
	Old string
	// Doubt is why the .git of the folder DoubtAt was not believed, so that the name is
	// that of a folder without a remote; "" if it was, or there is none.
	Doubt, DoubtAt string
}

// Of returns the project of a folder that is there. A .git file is believed if it
// leads to a git directory that names the folder as its work tree, or to a
// submodule of the repository around it; and a .git if it belongs to this user. No
// symbolic link, network path or other file system is gone through for that.
func Of(folder string) (Project, error) { return of(folder, false) }

// Claimed is Of, and believes what the folder says of itself: for a folder that a
// person has vouched for.
func Claimed(folder string) (Project, error) { return of(folder, true) }

func of(folder string, vouched bool) (Project, error) {
	folder, err := filepath.Abs(folder)
	if err != nil {
		return Project{}, err
	}
	if elsewhere(folder) && !vouched {
		return local(repository{top: folder, doubt: "it is a network path", doubtAt: folder}), nil
	}
	if folder, err = filepath.EvalSymlinks(folder); err != nil {
		return Project{}, err
	}
	r := find(folder, vouched)
	url := originOf(r.config)
	remote := remoteOf(url)
	if remote == "" {
		return local(r), nil
	}
	p := Project{Folder: r.top, Clone: r.clone, Remote: remote, Old: oldNamed(url)}
	p.Name, p.Last = named(remote)
	return p, nil
}

// local names a folder that has no remote.
func local(r repository) Project {
	last := clean(filepath.Base(r.top))
	if last = strings.TrimRight(last[:min(len(last), kept)], "-"); last == "" {
		last = "folder"
	}
	if r.clone == "" {
		r.clone = r.top
	}
	return Project{Folder: r.top, Clone: r.clone, Name: last + "-" + digest(r.top), Last: last, Doubt: r.doubt, DoubtAt: r.doubtAt}
}
