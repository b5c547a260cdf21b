// Packaging makes what people install out of programs that are built already:
// archives, Debian packages, npm packages, wheels, bundles and the plugin.
//
// The same programs, version and time always give the same bytes: no clock, no
// user and no folder of this machine gets into a package. `make dist` runs it.
package main

import (
	"cmp"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"time"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "packaging:", err)
		os.Exit(1)
	}
}

// release is what all packages of one run share.
type release struct {
	version Version
	time    time.Time
	url     string // where a person will publish the files, or ""
	libc    string // that engramd is linked with, such as "glibc 2.36"
	modules string // the module cache, for licences
	license []byte
	unit    []byte // engramd's systemd unit
	config  []byte // engramd's example configuration
	page    []byte // licences of what is in the owner's page
	matrix  []byte // what engramctl's matrix of meaning was made of

	programs []program
	folder   string

	mu    sync.Mutex
	files map[string][]byte // path in the folder → content
}

func run(args []string) error {
	flags := flag.NewFlagSet("packaging", flag.ContinueOnError)
	root := flags.String("root", "..", "the repository")
	bin := flags.String("bin", "../bin/portable", "the programs, as NAME-OS-ARCH")
	out := flags.String("out", "../dist", "the folder to fill; what is in it goes")
	describe := flags.String("version", "", "what git describe says")
	commits := flags.Int("commits", 0, "how many commits there are, for a version without a tag")
	epoch := flags.Int64("epoch", 0, "SOURCE_DATE_EPOCH: the time of everything in the packages")
	url := flags.String("release-url", "", "where the files will be published, for the bundles in server.json")
	libc := flags.String("libc", "", "the C library that engramd is linked with")
	debs := flags.Bool("debs", false, "make the Debian packages of one platform, and no others")
	modules := flags.String("modules", "", "the module cache (go env GOMODCACHE)")
	if err := flags.Parse(args); err != nil {
		return err
	}
	version, err := parseVersion(*describe, *commits)
	if err != nil {
		return err
	}
	r := &release{
		version: version, time: time.Unix(*epoch, 0).UTC(), url: *url, libc: *libc,
		modules: *modules, folder: *out, files: map[string][]byte{},
	}
	if *epoch <= 0 {
		return fmt.Errorf("-epoch: %d is no time to build for", *epoch)
	}
	if err := r.readRepository(*root); err != nil {
		return err
	}
	platforms, make := clientPlatforms, r.make
	if *debs {
		platforms, make = 1, r.makeDebs
	}
	if r.programs, err = readPrograms(*bin, platforms); err != nil {
		return err
	}
	if err := make(); err != nil {
		return err
	}
	return r.write()
}

func (r *release) readRepository(root string) error {
	for path, into := range map[string]*[]byte{
		"LICENSE":                      &r.license,
		"docs/systemd/engramd.service": &r.unit,
		"docs/engramd.example.toml":    &r.config,

		"internal/web/dist/licences.txt": &r.page,

		"internal/memory/meaning/matrix/NOTICE.txt": &r.matrix,
	} {
		text, err := os.ReadFile(filepath.Join(root, path))
		if err != nil {
			return err
		}
		*into = text
	}
	return nil
}

// make fills r.files. Packages do not depend on each other, but for the
// registry's entry, which names the bundles' hashes, and the sums.
func (r *release) make() error {
	jobs := []func() error{r.npmMain, r.plugin, r.wheels}
	for _, p := range r.programs {
		jobs = append(jobs, func() error { return r.archive(p) }, func() error { return r.sbom(p) })
		if p.os == "linux" {
			jobs = append(jobs, func() error { return r.deb(p) })
		}
		if p.name == "engramctl" {
			jobs = append(jobs, func() error { return r.npm(p) }, func() error { return r.bundle(p) })
		}
	}
	if err := parallel(jobs); err != nil {
		return err
	}
	if err := r.registry(); err != nil {
		return err
	}
	r.sums()
	return nil
}

// makeDebs fills r.files with Debian packages, and the sums.
func (r *release) makeDebs() error {
	var jobs []func() error
	for _, p := range r.programs {
		jobs = append(jobs, func() error { return r.deb(p) })
	}
	err := parallel(jobs)
	r.sums()
	return err
}

// parallel runs jobs, as many at once as there are processors, and returns the
// first error.
func parallel(jobs []func() error) error {
	errs := make([]error, len(jobs))
	slots := make(chan struct{}, runtime.NumCPU())
	var running sync.WaitGroup
	for i, job := range jobs {
		running.Go(func() {
			slots <- struct{}{}
			defer func() { <-slots }()
			errs[i] = job()
		})
	}
	running.Wait()
	return cmp.Or(errs...)
}

// put keeps a file for the folder.
func (r *release) put(name string, data []byte) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.files[name] = data
}

// write empties the folder and writes all files. It removes nothing that it
// cannot have written.
func (r *release) write() error {
	if _, err := os.Stat(filepath.Join(r.folder, sumsFile)); err == nil {
		if err := os.RemoveAll(r.folder); err != nil {
			return err
		}
	} else if entries, err := os.ReadDir(r.folder); err == nil && len(entries) > 0 {
		return fmt.Errorf("%s has files and no %s: it is no folder of packages", r.folder, sumsFile)
	}
	// The sums come last: a folder with them is whole.
	last := r.files[sumsFile]
	delete(r.files, sumsFile)
	for name, data := range r.files {
		if err := writeFile(filepath.Join(r.folder, name), data, 0o644); err != nil {
			return err
		}
	}
	return writeFile(filepath.Join(r.folder, sumsFile), last, 0o644)
}

func writeFile(path string, data []byte, mode fs.FileMode) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return os.WriteFile(path, data, mode)
}
