package engine

import (
	"cmp"
	"log/slog"
	"time"

	"engramd/internal/relay/store"
)

// Options say how a database is opened. Path is required; a zero elsewhere means
// the default named there.
type Options struct {
	Path          string                               // the database file; its folder must exist
	Readers       int                                  // how many read at a time; default 4
	ReadOnly      bool                                 // an existing one, beside the process that writes it
	Scratch       string                               // a folder in which one of an older version is copied, to be read there; Close removes the copy
	Mark          string                               // the file that says how far the database is; "": none, and nothing is held against it
	Last          string                               // a statement that reads Applier.Number from a database; "": it gives none
	Signs         []string                             // files and folders that only a relay makes that has a database
	Keys          []string                             // files that may have been put there before there is a database
	AcceptLoss    string                               // the word of a LossError: the database is opened as it is
	AsIs          bool                                 // an older version is good for Backup, and for nothing else
	Clock         func() time.Time                     // default time.Now
	After         func(time.Duration) <-chan time.Time // wakes the writer for Applier.Work; default time.After
	MaxBatch      int                                  // members in one transaction; default 2048
	MaxQueue      int                                  // members of one share waiting for the writer; default 2 × MaxBatch
	MaxQueueBytes int                                  // cost of them; default 8 MiB; of all shares at most twice as much
	CacheBytes    int64                                // page cache of the writer and, a quarter of it, of each reader; default 64 MiB
	MaxLogBytes   int64                                // size of the write-ahead log beyond which scans are ended for it; default 128 MiB
	Log           *slog.Logger                         // default: discard
	Observe       store.Observer                       // default: none
	Timeout       func() time.Duration                 // what a read may take, asked for each; 0 or less: no limit; default none
	Pacing        Pacing                               // how reads give way
	Halt          func(error)                          // members are applied as others apply them, or not at all (halt.go); nil: one that fails is answered so
}

// Complete fills in the defaults.
func (o *Options) Complete() {
	o.Readers = cmp.Or(o.Readers, 4)
	o.MaxBatch = cmp.Or(o.MaxBatch, 2048)
	o.MaxQueue = cmp.Or(o.MaxQueue, 2*o.MaxBatch)
	o.MaxQueueBytes = cmp.Or(o.MaxQueueBytes, 8<<20)
	o.CacheBytes = cmp.Or(o.CacheBytes, 64<<20)
	o.MaxLogBytes = cmp.Or(o.MaxLogBytes, defaultMaxLog)
	if o.Clock == nil {
		o.Clock = time.Now
	}
	if o.After == nil {
		o.After = time.After
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Observe == nil {
		o.Observe = Nobody{}
	}
	if o.Timeout == nil {
		o.Timeout = func() time.Duration { return 0 }
	}
}

// Nobody observes nothing.
type Nobody struct{}

// CommitDone and the others do nothing.
func (Nobody) CommitDone(time.Duration, int, bool)     {}
func (Nobody) QueryDone(string, time.Duration, string) {}
func (Nobody) ReadWaited(string, time.Duration)        {}
func (Nobody) Removed(string, int)                     {}
func (Nobody) WriteFailed(string, int)                 {}
func (Nobody) Rotten()                                 {}
func (Nobody) Retired(string, int)                     {}
func (Nobody) QueueAdd(string, int)                    {}

var _ store.Observer = Nobody{}
