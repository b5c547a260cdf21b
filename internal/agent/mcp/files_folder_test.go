package mcp

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"

	"engramd/internal/client"
	"engramd/internal/client/memory"
	"engramd/internal/relay/http/bridgetest"
	"engramd/nips/nipae"
)

// Deleting or renaming a folder takes many writes: new ones first, and what was
// not reached is reported.
func TestFoldersHalfway(t *testing.T) {
	m := newFake()
	p := filesServer(t, m, nil)
	for i := range maxTogether + 1 {
		m.texts[slugf("mem/many/%02d", i)] = "x"
	}
	for _, a := range []args{remove("/memories/many"), move("/memories/many", "/memories/few")} {
		if f, words := p.noFile(a); f.Code != CodeInvalid || !strings.Contains(words, "has 65 files, and one command changes at most 64") || m.writes != 0 {
			t.Errorf("%v: %s", a, words)
		}
	}
	delete(m.texts, "mem/many/00")
	p.file(remove("/memories/many"))
	for _, slug := range []nipae.Slug{"mem/old/a", "mem/old/b", "mem/old/c"} {
		m.texts[slug] = "text of " + string(slug)
	}
	// The second one cannot be written: nothing is removed.
	m.set = func(ctx context.Context, slug nipae.Slug, text string, o memory.SetOptions) (client.Entry, client.Status, error) {
		if slug == "mem/new/b" {
			return client.Entry{}, client.Status{}, client.ErrNoRelay
		}
		m.mu.Lock()
		defer m.mu.Unlock()
		m.texts[slug] = text
		return entryOf(slug, text), client.Status{}, nil
	}
	if f, words := p.noFile(move("/memories/old", "/memories/new")); f.Code != CodePartial || !strings.Contains(words, "1 of 3 files are written in /memories/new, and none is removed from where it was. Not so: /memories/new/b.md (unreachable).") || len(m.texts) != 4 {
		t.Errorf("%s, %q", words, m.texts)
	}
	// The same call completes it, except for one file that cannot be removed.
	m.set = nil
	m.remove = func() (client.Entry, client.Status, error) { return client.Entry{}, client.Status{}, client.ErrNoRelay }
	if f, words := p.noFile(move("/memories/old", "/memories/new")); f.Code != CodePartial || !strings.Contains(words, "All 3 files are written at /memories/new, and 0 are removed from /memories/old") || len(m.texts) != 6 {
		t.Errorf("%s, %q", words, m.texts)
	}
	if f, words := p.noFile(remove("/memories/old")); f.Code != CodePartial || !strings.Contains(words, "0 of 3 files of /memories/old are deleted") {
		t.Errorf("%+v %s", f, words)
	}
	m.remove = nil
	p.file(move("/memories/old", "/memories/new"))
	if len(m.texts) != 3 || !strings.HasSuffix(m.texts["mem/new/b"], "text of mem/old/b") {
		t.Errorf("%q", m.texts)
	}
	// Another text at one of the new paths: nothing is written.
	m.texts["mem/old/a"] = "another text"
	if _, words := p.noFile(move("/memories/old", "/memories/new")); words != "The destination /memories/new already exists" || len(m.texts) != 4 {
		t.Error(words)
	}
	// Names that differ only in case are the same memory at another path.
	p.file(move("/memories/new", "/memories/New"))
	if got := p.file(viewing("/memories/New")); strings.Count(got, "\n") != 4 || len(m.texts) != 4 {
		t.Errorf("%s %q", got, m.texts)
	}
}

// Two servers of one agent at one relay: no change is lost, and of two
// creations of a file one succeeds.
func TestFilesOfTwoServers(t *testing.T) {
	url := bridgetest.Start(t).URL
	peers := []peer{filesServer(t, agentAt(t, url), nil), filesServer(t, agentAt(t, url), nil)}
	peers[0].file(create("/memories/log.md", "begin\n"))
	const each = 4
	var group sync.WaitGroup
	created := make([]bool, len(peers))
	for i, p := range peers {
		group.Go(func() {
			texts, failed := p.fileCall(create("/memories/one.md", fmt.Sprint("by ", i)))
			created[i] = !failed
			if failed && texts[0] != "File /memories/one.md already exists" && !strings.HasPrefix(texts[0], "conflict:") {
				t.Errorf("create: %s", texts)
			}
			for n := range each {
				line := fmt.Sprintf("line %d of %d", n, i)
				// A conflict may come after the write was taken, when the other server has
				// already built on it: the file says whether the line is there.
				for try := 0; try == 0 || !strings.Contains(p.file(viewing("/memories/log.md")), line); try++ {
					texts, failed := p.fileCall(insert("/memories/log.md", 1, line))
					if !failed {
						break
					}
					if !strings.HasPrefix(texts[0], "conflict:") || try == 50 {
						t.Errorf("insert: %s", texts)
						return
					}
				}
			}
		})
	}
	group.Wait()
	if created[0] == created[1] {
		t.Errorf("created: %v", created)
	}
	for _, p := range peers {
		got := p.file(viewing("/memories/log.md"))
		for i := range peers {
			for n := range each {
				if line := fmt.Sprintf("\tline %d of %d\n", n, i); strings.Count(got, line) != 1 {
					t.Errorf("%q stands %d times in\n%s", line, strings.Count(got, line), got)
				}
			}
		}
	}
}
