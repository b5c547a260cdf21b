package project

import (
	"cmp"
	"engramd/internal/e2e/notrun"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"engramd/nips/nipae"
)

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func at(t *testing.T, folder string) Project {
	t.Helper()
	p, err := Of(folder)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := nipae.ParseSlug(Prefix + p.Name); err != nil {
		t.Errorf("%q cannot stand in a slug: %v", p.Name, err)
	}
	return p
}

func TestNames(t *testing.T) {
	long := strings.Repeat("a", 80)
	hash := func(name, remote string) string { return name + "-" + digest(remote) }
	for url, want := range map[string]string{
		"https://github.com/Ana/Atlas.git":              hash("github-com/ana/atlas", "github.com/ana/atlas"),
		"https://ana:secret@github.com:8443/Ana/Atlas/": hash("github-com/ana/atlas", "github.com/ana/atlas"),
		"ssh://git@GitHub.com:22/ana/atlas.git":         hash("github-com/ana/atlas", "github.com/ana/atlas"),
		"git@github.com:/ana/atlas":                     hash("github-com/ana/atlas", "github.com/ana/atlas"),
		"git@x.org:Ana/Atlas.git":                       hash("x-org/ana/atlas", "x.org/Ana/Atlas"),
		"git@x.org:ana/_my_log-":                        hash("x-org/ana/my_log", "x.org/ana/_my_log-"),
		"https://gitlab.com/group/sub/Name":             hash("gitlab-com/group-sub/name", "gitlab.com/group/sub/name"),
		"https://host/ana/my_log-2.git":                 hash("host/ana/my_log-2", "host/ana/my_log-2"),
		"https://host/ana/log-":                         hash("host/ana/log", "host/ana/log-"),
		"https://host/ana/log-12345678":                 hash("host/ana/log-12345678", "host/ana/log-12345678"),
		"https://my-host/ana/log":                       hash("my-host/ana/log", "my-host/ana/log"),
		"https://log-12345678/ana/log":                  hash("log-12345678-host/ana/log", "log-12345678/ana/log"),
		"https://host/log":                              hash("host/x/log", "host/log"),
		"https://host/öwner/näme":                       hash("host/wner/n-me", "host/öwner/näme"),
		"https://host/../../etc/passwd":                 hash("host/etc/passwd", "host/../../etc/passwd"),
		"https://host/日本/語":                             hash("host/x/x", "host/日本/語"),
		"https://host/日本/a/語":                           hash("host/a/x", "host/日本/a/語"),
		"https://[::1]/a/b":                             hash("1/a/b", "[::1]/a/b"),
		"https://host/a/" + long:                        hash("host/a/"+long[:maxLevel], "host/a/"+long),
		"/srv/git/atlas.git":                            "",
		"../atlas":                                      "",
		"./a:b/c":                                       "",
		"file:///srv/atlas":                             "",
		`C:\git\atlas`:                                  "",
		"https://host":                                  "",
		"https://host/":                                 "",
		"https://host/" + strings.Repeat("a/", maxURL):  "",
		"://":   "",
		"":      "",
		"atlas": "",
		"host:": "",
	} {
		got := ""
		if remote := remoteOf(url); remote != "" {
			got, _ = named(remote)
		}
		if got != want || strings.Contains(got, "secret") {
			t.Errorf("%q is %q, want %q", url, got, want)
		}
	}
}

// TestDistinct: remotes that one name stood for have several, though the old names
// are the same; and no name lies below another.
func TestDistinct(t *testing.T) {
	for _, same := range [][]string{
		{"github.com/acme-foo/bar", "github.com/acme/foo-bar", "github.com/acme/foo_bar", "github.com/acme/foo.bar"},
		{"gitlab.com/group/sub/proj", "gitlab.com/group/sub-proj", "gitlab.com/group-sub/proj"},
		{"my-host.com/a/b", "my.host.com/a/b", "my-host-com/a/b"},
		{"h.com/a/b-c", "h.com/a-b/c", "h.com/A/b-c"},
		{"h-com/a", "h.com/a", "h.com//a", "h.com/a/"},
	} {
		names := map[string]string{}
		for _, remote := range same {
			if old := oldNamed("https://" + remote); old != oldNamed("https://"+same[0]) && !strings.Contains(remote, "//") {
				t.Errorf("%s was %s", remote, old)
			}
			name, _ := named(remoteOf("https://" + remote))
			for other, from := range names {
				if (Own(Prefix+name, other) || Own(Prefix+other, name)) && remoteOf("https://"+from) != remoteOf("https://"+remote) {
					t.Errorf("%s is %s, and %s is %s", remote, name, from, other)
				}
			}
			names[name] = remote
		}
	}
}

func TestOwn(t *testing.T) {
	for _, tt := range []struct {
		slug, name string
		want       bool
	}{
		{"mem/projects/h/o/n", "h/o/n", true},
		{"mem/projects/h/o/n/x/y-12345678", "h/o/n", true},
		{"mem/projects/h/o/n-2", "h/o/n", false},
		{"mem/projects/h/o", "h/o/n", false},
		{"mem/projects/h-o-n/x", "h-o-n", true},
		{"mem/projects/h-o-n/x/y/z", "h-o-n", true},
		{"mem/projects/h-o-n/x/y-12345678/z", "h-o-n", false}, // of the host h.o.n
		{"mem/projects/plain-12345678/x/y-12345678", "plain-12345678", true},
		{"mem/projects/x", "", false},
	} {
		if got := Own(tt.slug, "other", tt.name); got != tt.want {
			t.Errorf("%s is of %q: %v", tt.slug, tt.name, got)
		}
	}
}

func TestOf(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	config := "[core]\n\tbare = false\n[remote \"upstream\"]\n\turl = https://x.org/other/one\n[remote \"origin\"] ; mine\n\tfetch = +refs/heads/*:refs/remotes/origin/*\n\tURL = \"https://x.org/Ana/Atlas.git\" # here\n[branch \"main\"]\n\turl = https://x.org/no/such\n"
	repo := filepath.Join(dir, "repo")
	write(t, filepath.Join(repo, ".git", "config"), config)
	write(t, filepath.Join(repo, "a", "b", "file"), "")
	// A further work tree, as git worktree add makes it.
	write(t, filepath.Join(dir, "tree", ".git"), "gitdir: "+filepath.Join(repo, ".git", "worktrees", "tree")+"\n")
	write(t, filepath.Join(repo, ".git", "worktrees", "tree", "gitdir"), filepath.Join(dir, "tree", ".git")+"\n")
	// One of a bare clone, with relative paths.
	write(t, filepath.Join(dir, "bare", "atlas.git", "config"), config)
	write(t, filepath.Join(dir, "bare", "tree", ".git"), "gitdir: ../atlas.git/worktrees/tree\n")
	write(t, filepath.Join(dir, "bare", "atlas.git", "worktrees", "tree", "gitdir"), "../../../tree/.git\n")
	// A submodule.
	write(t, filepath.Join(repo, "sub", ".git"), "gitdir: ../.git/modules/sub\n")
	write(t, filepath.Join(repo, ".git", "modules", "sub", "config"), "[remote \"origin\"]\nurl=git@x.org:ana/sub\n")
	write(t, filepath.Join(dir, "plain", "x"), "")
	remote := func(folder, clone, remote, name, last, old string) Project {
		return Project{Folder: filepath.Join(dir, folder), Clone: filepath.Join(dir, clone), Remote: remote, Name: name + "-" + digest(remote), Last: last, Old: old}
	}
	plain := Project{Folder: filepath.Join(dir, "plain"), Clone: filepath.Join(dir, "plain"), Name: "plain-" + digest(filepath.Join(dir, "plain")), Last: "plain"}
	for folder, want := range map[string]Project{
		"repo":      remote("repo", "repo", "x.org/Ana/Atlas", "x-org/ana/atlas", "atlas", "x-org-ana-atlas"),
		"repo/a/b":  remote("repo", "repo", "x.org/Ana/Atlas", "x-org/ana/atlas", "atlas", "x-org-ana-atlas"),
		"tree":      remote("tree", "repo", "x.org/Ana/Atlas", "x-org/ana/atlas", "atlas", "x-org-ana-atlas"),
		"repo/sub":  remote("repo/sub", "repo/sub", "x.org/ana/sub", "x-org/ana/sub", "sub", "x-org-ana-sub"),
		"plain":     plain,
		"bare/tree": remote("bare/tree", "bare/atlas.git", "x.org/Ana/Atlas", "x-org/ana/atlas", "atlas", "x-org-ana-atlas"),
	} {
		if got := at(t, filepath.Join(dir, folder)); got != want {
			t.Errorf("%s is %+v, want %+v", folder, got, want)
		}
	}
	if _, err := Of(filepath.Join(dir, "nowhere")); err == nil {
		t.Error("a folder that is not there is of a project")
	}
}

// TestHostileFolders: whatever stands there, it takes no time, nothing is followed,
// and the name is one that may stand in a slug.
func TestHostileFolders(t *testing.T) {
	origin := "[remote \"origin\"]\nurl = https://x.org/ana/atlas\n"
	for name, make := range map[string]func(t *testing.T, dir string){
		"huge config": func(t *testing.T, dir string) {
			write(t, filepath.Join(dir, ".git", "config"), origin+strings.Repeat("#", maxConfig))
		},
		"include": func(t *testing.T, dir string) {
			write(t, filepath.Join(dir, ".git", "config"), "[include]\npath = more\n")
			write(t, filepath.Join(dir, ".git", "more"), origin)
		},
		"config includes itself": func(t *testing.T, dir string) {
			write(t, filepath.Join(dir, ".git", "config"), "[include]\npath = config\n")
		},
		"config is a folder": func(t *testing.T, dir string) { write(t, filepath.Join(dir, ".git", "config", "x"), "") },
		"gitdir is itself":   func(t *testing.T, dir string) { write(t, filepath.Join(dir, ".git"), "gitdir: .git\n") },
		"gitdir is above":    func(t *testing.T, dir string) { write(t, filepath.Join(dir, ".git"), "gitdir: ../../../../../..\n") },
		"gitdir is huge": func(t *testing.T, dir string) {
			write(t, filepath.Join(dir, ".git"), "gitdir: "+strings.Repeat("x", maxPointer))
		},
		"gitdir with zero":   func(t *testing.T, dir string) { write(t, filepath.Join(dir, ".git"), "gitdir: a\x00b\n") },
		"gitdir is a device": func(t *testing.T, dir string) { write(t, filepath.Join(dir, ".git"), "gitdir: /dev/zero\n") },
		"config is a device": func(t *testing.T, dir string) {
			mkdir(t, filepath.Join(dir, ".git"))
			_ = os.Symlink("/dev/zero", filepath.Join(dir, ".git", "config"))
		},
		"config is its own symlink": func(t *testing.T, dir string) {
			mkdir(t, filepath.Join(dir, ".git"))
			_ = os.Symlink("config", filepath.Join(dir, ".git", "config"))
		},
		"url of dashes": func(t *testing.T, dir string) {
			write(t, filepath.Join(dir, ".git", "config"), "[remote \"origin\"]\nurl = https://--/--/--\n")
		},
		"not text": func(t *testing.T, dir string) {
			write(t, filepath.Join(dir, ".git", "config"), "\xff\xfe[remote \"origin\"\nurl = \xff\n")
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir, err := filepath.EvalSymlinks(t.TempDir())
			if err != nil {
				t.Fatal(err)
			}
			dir = filepath.Join(dir, "--Ünïcode [Agent Memory] "+strings.Repeat("y", 80))
			mkdir(t, dir)
			make(t, dir)
			if p := at(t, dir); p.Folder != dir || !strings.HasSuffix(p.Name, "-"+digest(dir)) || len(p.Name) > maxOld {
				t.Errorf("it is %v", p)
			}
		})
	}
}

func mkdir(t *testing.T, dir string) {
	t.Helper()
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
}

func TestIn(t *testing.T) {
	for slug, want := range map[string]string{
		"mem/projects/h-org/o/n-12345678/x":           "h-org/o/n-12345678",
		"mem/projects/h-org/o/n-12345678":             "h-org/o/n-12345678",
		"mem/projects/atlas/a/b/c":                    "atlas",
		"mem/projects/atlas":                          "atlas",
		"mem/projects/plain-12345678/x/note-12345678": "plain-12345678",
		"mem/atlas": "",
	} {
		if got := In(slug); got != want {
			t.Errorf("%s is of %q, want %q", slug, got, want)
		}
	}
}

// TestPointers: a .git file names something only if both sides say so, a person
// vouches for it, or the repository around it has it as a submodule.
func TestPointers(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	repo := filepath.Join(dir, "repo", ".git")
	write(t, filepath.Join(repo, "config"), "[remote \"origin\"]\nurl = https://x.org/ana/atlas\n")
	write(t, filepath.Join(repo, "worktrees", "w", "commondir"), "../..\n")
	write(t, filepath.Join(repo, "worktrees", "w", "gitdir"), filepath.Join(dir, "mine", ".git")+"\n")
	write(t, filepath.Join(repo, "modules", "m", "config"), "[remote \"origin\"]\nurl = https://x.org/ana/sub\n")
	if err := os.Symlink(filepath.Join(dir, "repo"), filepath.Join(dir, "link")); err != nil {
		notrun.Skip(t, "there are no symbolic links here: "+err.Error())
	}
	for name, c := range map[string]struct{ pointer, vouched string }{
		"mine":        {filepath.Join(repo, "worktrees", "w"), "atlas"},
		"other":       {filepath.Join(repo, "worktrees", "w"), "atlas"},
		"git":         {repo, "atlas"},
		"module":      {filepath.Join(repo, "modules", "m"), "sub"},
		"through":     {filepath.Join(dir, "link", ".git", "worktrees", "w"), "atlas"},
		"network":     {`\\host\share\.git\worktrees\w`, ""},
		"network two": {"//host/share/.git/worktrees/w", ""},
		"nowhere":     {filepath.Join(dir, "no", ".git", "worktrees", "w"), ""},
	} {
		folder := filepath.Join(dir, name)
		write(t, filepath.Join(folder, ".git"), "gitdir: "+c.pointer+"\n")
		p := at(t, folder)
		if want := name == "mine"; (p.Remote != "") != want || (p.Doubt == "") != want || p.Folder != folder {
			t.Errorf("%s is %+v", name, p)
		}
		if p, err = Claimed(folder); err != nil || !strings.HasSuffix(p.Remote, c.vouched) || (c.vouched == "") != (p.Remote == "") {
			t.Errorf("%s, vouched for, is %+v, %v", name, p, err)
		}
	}
	mkdir(t, filepath.Join(dir, "symlink"))
	if err := os.Symlink(repo, filepath.Join(dir, "symlink", ".git")); err != nil {
		t.Fatal(err)
	}
	if p := at(t, filepath.Join(dir, "symlink")); p.Remote != "" {
		t.Errorf("a .git that is a link names %+v", p)
	}
}

// FuzzNamed: every URL gives a name that may stand in a slug with room behind it,
// or none; two remotes give two, and none lies below the other.
func FuzzNamed(f *testing.F) {
	f.Add("git@github.com:ana/atlas.git", "git@github.com:ana-atlas/x")
	f.Add("https://a:b@host:1/x/y", "https://host/x/y-12345678")
	f.Add("h-com:a/b/c", "h.com:a-b/c")
	f.Fuzz(func(t *testing.T, one, two string) {
		var names, remotes []string
		for _, url := range []string{one, two} {
			remote := remoteOf(url)
			if remote == "" {
				return
			}
			name, last := named(remote)
			for _, slug := range []string{Prefix + name, "mem/" + last, "mem/" + cmp.Or(oldNamed(url), "x")} {
				if _, err := nipae.ParseSlug(slug); err != nil || len(name) > 140 {
					t.Errorf("%q: %q: %v", url, slug, err)
				}
			}
			names, remotes = append(names, name), append(remotes, remote)
		}
		if remotes[0] != remotes[1] && (Own(Prefix+names[0], names[1]) || Own(Prefix+names[1], names[0])) {
			t.Errorf("%q and %q: %q and %q", one, two, names[0], names[1])
		}
	})
}

// TestNoTwoRemotesHaveOneName tries all short remotes of a few letters.
func TestNoTwoRemotesHaveOneName(t *testing.T) {
	levels := []string{"a", "A", "a-b", "a_b", "a.b", "-a", "a-", ".", "é", "a-12345678", "a-12345678-host", "x"}
	var remotes []string
	for _, host := range levels {
		for _, owner := range levels {
			remotes = append(remotes, host+"/"+owner)
			for _, name := range levels {
				remotes = append(remotes, host+"/"+owner+"/"+name, host+"/"+owner+"/x/"+name)
			}
		}
	}
	names := map[string]string{}
	for _, remote := range remotes {
		name, _ := named(remote)
		if other, ok := names[name]; ok {
			t.Errorf("%s and %s are %s", remote, other, name)
		}
		if strings.Count(name, "/") != 2 || marked(strings.Split(name, "/")[0]) {
			t.Errorf("%s is %s", remote, name)
		}
		if _, err := nipae.ParseSlug(Prefix + name); err != nil {
			t.Errorf("%s is %s: %v", remote, name, err)
		}
		names[name] = remote
	}
}
