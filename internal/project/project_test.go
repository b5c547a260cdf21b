package project

import (
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

func of(t *testing.T, folder string) Project {
	t.Helper()
	p, err := Of(folder)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := nipae.ParseSlug("mem/projects/" + p.Name); err != nil {
		t.Errorf("%q cannot stand in a slug: %v", p.Name, err)
	}
	return p
}

func TestNames(t *testing.T) {
	long := strings.Repeat("a", 80)
	for url, want := range map[string]string{
		"https://github.com/Ana/Atlas.git":              "github-com-ana-atlas",
		"https://ana:secret@github.com:8443/Ana/Atlas/": "github-com-ana-atlas",
		"ssh://git@github.com:22/ana/atlas.git":         "github-com-ana-atlas",
		"git@github.com:ana/atlas.git":                  "github-com-ana-atlas",
		"git@github.com:/ana/atlas":                     "github-com-ana-atlas",
		"https://gitlab.com/group/sub/Name":             "gitlab-com-group-sub-name",
		"https://host/öwner/näme":                       "host-wner-n-me",
		"https://host/../../etc/passwd":                 "host-etc-passwd",
		"https://[::1]/a/b":                             "1-a-b",
		"https://host/" + long:                          "host-" + strings.Repeat("a", 50) + "-" + digest("host-"+long),
		"/srv/git/atlas.git":                            "",
		"../atlas":                                      "",
		"./a:b/c":                                       "",
		"file:///srv/atlas":                             "",
		`C:\git\atlas`:                                  "",
		"https://host":                                  "",
		"https://host/":                                 "",
		"://":                                           "",
		"":                                              "",
		"atlas":                                         "",
		"host:":                                         "",
	} {
		got, _ := named(url)
		if got != want {
			t.Errorf("%q is %q, want %q", url, got, want)
		}
		if len(got) > maxName || strings.Contains(got, "secret") {
			t.Errorf("%q is %q", url, got)
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
	write(t, filepath.Join(repo, ".git", "worktrees", "tree", "commondir"), "../..\n")
	// A submodule.
	write(t, filepath.Join(repo, "sub", ".git"), "gitdir: ../.git/modules/sub\n")
	write(t, filepath.Join(repo, ".git", "modules", "sub", "config"), "[remote \"origin\"]\nurl=git@x.org:ana/sub\n")
	write(t, filepath.Join(dir, "plain", "x"), "")
	for folder, want := range map[string]Project{
		"repo":     {repo, "x-org-ana-atlas", "x.org/ana/atlas", "atlas"},
		"repo/a/b": {repo, "x-org-ana-atlas", "x.org/ana/atlas", "atlas"},
		"tree":     {filepath.Join(dir, "tree"), "x-org-ana-atlas", "x.org/ana/atlas", "atlas"},
		"repo/sub": {filepath.Join(repo, "sub"), "x-org-ana-sub", "x.org/ana/sub", "sub"},
		"plain":    {filepath.Join(dir, "plain"), "plain-" + digest(filepath.Join(dir, "plain")), "", "plain"},
	} {
		if got := of(t, filepath.Join(dir, folder)); got != want {
			t.Errorf("%s is %v, want %v", folder, got, want)
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
			if p := of(t, dir); p.Folder != dir || !strings.HasSuffix(p.Name, "-"+digest(dir)) || len(p.Name) > maxName {
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

// FuzzNamed: every URL gives a name that may stand in a slug, or none.
func FuzzNamed(f *testing.F) {
	f.Add("git@github.com:ana/atlas.git")
	f.Add("https://a:b@host:1/x/y")
	f.Fuzz(func(t *testing.T, url string) {
		name, _ := named(url)
		if name == "" {
			return
		}
		if _, err := nipae.ParseSlug("mem/projects/" + name); err != nil || len(name) > maxName {
			t.Errorf("%q: %q", url, name)
		}
	})
}
