package relaytest

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
)

// Tags are the build tags the daemon is shipped with (see the Makefile).
const Tags = "sqlite_fts5 libsecp256k1"

// Ctl is the client, as shipped.
var Ctl = Build{Program: "engramctl"}

// Build says which binary a test wants.
type Build struct {
	Program string // of cmd; empty: engramd
	Race    bool   // with the race detector: what it finds fails the test
	Tags    string // instead of Tags; "none" for no tag at all
	// Overlay is a file for go build -overlay: other sources in place of some.
	Overlay string
}

type built struct {
	once sync.Once
	path string
	err  error
}

// builds holds one entry for each Build of this process; the binaries lie in a
// folder that Clean removes.
type builds struct {
	mu  sync.Mutex
	dir string
	all map[Build]*built
}

var binaries = builds{all: map[Build]*built{}}

func (b Build) program() string { return cmp.Or(b.Program, "engramd") }

// Binary returns the path of a program, building it on first use in this
// process. ENGRAMD_BIN names a ready engramd, which is used as it is for whatever
// has no overlay.
func Binary(b Build) (string, error) {
	if path := os.Getenv("ENGRAMD_BIN"); path != "" && b.program() == "engramd" && b.Overlay == "" {
		return path, nil
	}
	binaries.mu.Lock()
	one := binaries.all[b]
	if one == nil {
		one = &built{}
		binaries.all[b] = one
	}
	binaries.mu.Unlock()
	one.once.Do(func() { one.path, one.err = compile(b) })
	return one.path, one.err
}

// Tests are those of a package that starts relays. TestMain ends with its Run.
type Tests struct {
	M interface{ Run() int }
	// Parallel is how many run side by side unless the command line says so, for
	// tests that wait more than they compute; 0 is as many as there are processors.
	Parallel int
}

// Run runs them, removes what Binary built and returns the exit code.
func (t Tests) Run() int {
	if t.Parallel > 0 {
		if err := flag.Set("test.parallel", strconv.Itoa(t.Parallel)); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
	}
	code := t.M.Run()
	if err := Clean(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return code
}

// Clean removes what Binary built.
func Clean() error {
	binaries.mu.Lock()
	defer binaries.mu.Unlock()
	if binaries.dir == "" {
		return nil
	}
	dir := binaries.dir
	binaries.dir = ""
	binaries.all = map[Build]*built{}
	return os.RemoveAll(dir)
}

func compile(b Build) (string, error) {
	if path := ready(b); path != "" {
		return path, nil
	}
	root, err := Root()
	if err != nil {
		return "", err
	}
	if err := touchSources(root); err != nil {
		return "", err
	}
	dir, err := buildDir()
	if err != nil {
		return "", err
	}
	tags, name := b.Tags, b.program()
	switch tags {
	case "":
		tags = Tags
	case "none":
		tags, name = "", name+"-plain"
	default:
		name += "-" + strings.NewReplacer(" ", "-", ",", "-").Replace(tags)
	}
	args := []string{"build", "-ldflags", "-s -w", "-tags", tags} // a stack trace needs no debugger's tables
	if b.Race {
		args, name = append(args, "-race"), name+"-race"
	}
	if b.Overlay != "" {
		sum := sha256.Sum256([]byte(b.Overlay))
		args, name = append(args, "-overlay", b.Overlay), name+"-"+hex.EncodeToString(sum[:8])
	}
	path := filepath.Join(dir, name)
	cmd := exec.Command("go", append(args, "-o", path, "./cmd/"+b.program())...)
	cmd.Dir = root
	cmd.Env = append(os.Environ(), "CGO_ENABLED=1") // SQLite is C, also where the test is not
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build %s: %w\n%s", b.program(), err, out)
	}
	return path, nil
}

// ready returns the path of a binary that was built for all packages together, in
// the folder that ENGRAMD_BUILT names (make test), or "".
func ready(b Build) string {
	dir := os.Getenv("ENGRAMD_BUILT")
	if dir == "" || b.Tags != "" || b.Overlay != "" {
		return ""
	}
	path := filepath.Join(dir, b.program())
	if b.Race {
		path += "-race"
	}
	if _, err := os.Stat(path); err != nil {
		return ""
	}
	return path
}

// touchSources looks at every source of the binary. go test remembers results by
// what a test has looked at, and does not see what the compiler reads: without
// this it would call a result cached although the daemon has changed.
func touchSources(root string) error {
	for _, top := range []string{"go.mod", "go.sum", "cmd", "internal", "nips", "migrations"} {
		err := filepath.WalkDir(filepath.Join(root, top), func(path string, d fs.DirEntry, err error) error {
			if err == nil {
				_, err = os.Stat(path)
			}
			return err
		})
		if err != nil {
			return fmt.Errorf("look at the sources: %w", err)
		}
	}
	return nil
}

func buildDir() (string, error) {
	binaries.mu.Lock()
	defer binaries.mu.Unlock()
	if binaries.dir == "" {
		dir, err := os.MkdirTemp("", "engramd-e2e-")
		if err != nil {
			return "", fmt.Errorf("folder for the binaries: %w", err)
		}
		binaries.dir = dir
	}
	return binaries.dir, nil
}

// module is the first line of the product's go.mod. Tests of engram-load, which is
// a module of its own below it, start relays too.
const module = "module engramd\n"

// Root returns the folder of the product's module, found upwards from the working
// folder.
func Root() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", fmt.Errorf("working folder: %w", err)
	}
	for {
		if text, err := os.ReadFile(filepath.Join(dir, "go.mod")); err == nil && strings.HasPrefix(string(text), module) {
			return dir, nil
		}
		up := filepath.Dir(dir)
		if up == dir {
			return "", fmt.Errorf("no go.mod of engramd above the working folder")
		}
		dir = up
	}
}
