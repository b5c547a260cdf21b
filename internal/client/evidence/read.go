package evidence

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/nbd-wtf/go-nostr"

	"engramd/internal/client/contract"
)

// Files of a folder that is checked. Disclosures are the files of a folder in
// it: each what `engramctl contract disclose` printed.
const (
	EventsFile    = "events.jsonl"
	OrderFile     = "order.json"
	SealedList    = "sealed.json"
	DisclosureDir = "disclosed"
	// The transcript, and what it is made of beside signed events.
	TranscriptFile = "transcript.md"
	UnsignedFile   = "transcript.json"
)

// Bounds of what is read. A thread has at most what a relay's API lists.
const (
	maxEventsBytes     = 256 << 20
	maxOrderBytes      = 16 << 20
	maxDisclosureBytes = 1 << 20
	maxDisclosures     = 1000
	maxEvents          = 100_000
)

// ErrInput means that what is to be checked cannot be read, or is no export.
var ErrInput = errors.New("that is no export of a contract")

// Files are what is checked.
type Files struct {
	Events      []byte            // one event a line
	Order       []byte            // nil for none
	Sealed      []byte            // nil for none
	Transcript  []byte            // the same, and
	Unsigned    []byte            // what it is made of beside events
	Disclosures map[string][]byte // by name of the file
}

// Read reads a folder, or a file with events. The error is ErrInput, or one of
// reading.
func Read(path string) (Files, error) {
	f := Files{Disclosures: map[string][]byte{}}
	info, err := os.Stat(path)
	if err != nil {
		return f, err
	}
	if !info.IsDir() {
		f.Events, err = readAtMost(path, maxEventsBytes)
		return f, err
	}
	if f.Events, err = readAtMost(filepath.Join(path, EventsFile), maxEventsBytes); errors.Is(err, fs.ErrNotExist) {
		return f, fmt.Errorf("%w: it has no file %s", ErrInput, EventsFile)
	} else if err != nil {
		return f, err
	}
	for name, into := range map[string]*[]byte{OrderFile: &f.Order, SealedList: &f.Sealed, TranscriptFile: &f.Transcript, UnsignedFile: &f.Unsigned} {
		most := int64(maxOrderBytes)
		if name == TranscriptFile || name == UnsignedFile {
			most = maxEventsBytes
		}
		if *into, err = readAtMost(filepath.Join(path, name), most); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return f, err
		}
	}
	names, err := os.ReadDir(filepath.Join(path, DisclosureDir))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return f, err
	}
	if len(names) > maxDisclosures {
		return f, fmt.Errorf("%w: %s has more than %d files", ErrInput, DisclosureDir, maxDisclosures)
	}
	for _, name := range names {
		if name.IsDir() || !strings.HasSuffix(name.Name(), ".json") {
			continue
		}
		if f.Disclosures[name.Name()], err = readAtMost(filepath.Join(path, DisclosureDir, name.Name()), maxDisclosureBytes); err != nil {
			return f, err
		}
	}
	return f, nil
}

func readAtMost(path string, most int64) ([]byte, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	b, err := io.ReadAll(io.LimitReader(file, most+1))
	if err == nil && int64(len(b)) > most {
		err = fmt.Errorf("%w: %s has more than %d bytes", ErrInput, filepath.Base(path), most)
	}
	return b, err
}

func (c *checking) withdrawals() {
	if len(c.requests) == 0 {
		c.note("withdrawals", "no request to withdraw is here; whether there was one is the relay's to say")
		return
	}
	at := map[string][]*nostr.Event{} // by address
	for _, ev := range slices.Concat(c.entries, c.states) {
		address := fmt.Sprintf("%d:%s:%s", ev.Kind, ev.PubKey, c.r.Contract)
		at[address] = append(at[address], ev)
	}
	k, withdrawn := Check{Name: "withdrawals"}, map[string]bool{}
	for _, ev := range c.requests {
		found, addresses := false, map[string]bool{}
		for _, tag := range ev.Tags {
			if len(tag) < 2 {
				continue
			}
			var named []*nostr.Event
			if of := c.byID[tag[1]]; tag[0] == "e" && of != nil && of.Kind != nostr.KindDeletion {
				named = []*nostr.Event{of}
			} else if tag[0] == "a" && !addresses[tag[1]] {
				addresses[tag[1]], named = true, at[tag[1]]
			}
			for _, of := range named {
				switch {
				case tag[0] == "a" && of.CreatedAt > ev.CreatedAt:
				case of.PubKey != ev.PubKey:
					k.fail("request %s is not by the author of %s", ev.ID, of.ID)
				default:
					found, withdrawn[of.ID] = true, true
				}
			}
		}
		if !found && len(c.unseen) == 0 { // it may be about a sealed one that is not here
			k.fail("request %s withdraws nothing that is here", ev.ID)
		}
	}
	c.done(k, "%d entries and states were withdrawn by their authors, and are here all the same", len(withdrawn))
}

// disclosed checks what was opened of sealed entries.
func (c *checking) disclosed() {
	k, opened, uncommitted := Check{Name: "disclosed texts"}, map[string]bool{}, 0
	for _, name := range slices.Sorted(maps.Keys(c.files.Disclosures)) {
		d, err := contract.ReadDisclosure(bytes.TrimSpace(c.files.Disclosures[name]))
		switch {
		case err != nil:
			k.fail("%s: %v", name, err)
		case c.byID[d.Event.ID] == nil && !c.listed(d.Event):
			k.fail("%s: its entry is not among the events", name)
		case !opened[d.Event.ID]:
			opened[d.Event.ID] = true
			if !d.Entry.Committed {
				uncommitted++
			}
			c.r.Disclosed = append(c.r.Disclosed, d.Entry)
		}
	}
	if committed := len(opened) - uncommitted; k.Outcome == Failed || committed > 0 {
		c.done(k, "%d sealed entries say what their message keys open, and their authors committed to", committed)
	}
	if uncommitted > 0 {
		c.done(Check{Name: "disclosed texts", Outcome: NotProved}, "%d sealed entries are opened, not committed: nothing that their authors signed rules out other texts", uncommitted)
	}
	if left := c.r.Sealed + len(c.unseen) - len(opened); left > 0 {
		c.note("sealed texts", "%d sealed entries are not disclosed: their signatures cover payloads, and what those say is nobody's word here", left)
	}
}
