package store

// Command is one write as a value. Every change of a database is a Command,
// except for what belongs to that database alone: migrations, its search index,
// and what the implementation's DESIGN.md lists. A store executes commands one
// after the other. A command carries everything that its effect depends on, or
// an earlier one set it, so that the same commands in the same order, each with
// its time, give the same rows, whatever the clock says and however many share
// a transaction.
//
// There are no types but those of this package. The order of a type's fields is
// its encoding (AppendCommand); changing it makes a new version.
type Command interface{ command() }

// Executed is a command with the time at which it was executed, in Unix
// seconds: its effect depends on both.
type Executed struct {
	At      int64
	Command Command
}

// PutEvent is a Put. Event is the JSON as it is stored; the other fields are as
// in PutOptions.
type PutEvent struct {
	Event     []byte
	Import    bool
	Base      *[32]byte
	Forward   []string
	KnownOnly bool
}

// SubmitEvent is a PutEvent of a client's event for which it is decided where it
// is executed who may write (Admission): what the lists say there counts.
// Vouched are the owners whose attestations for the author came with it.
type SubmitEvent struct {
	Event     []byte
	Base      *[32]byte
	Forward   []string
	KnownOnly bool
	Vouched   []string
}

// PutCopy is a Put of what a relay brings that this one follows: PutOptions
// with Replica, and Past. Event is the JSON as it is stored.
type PutCopy struct {
	Event []byte
	Past  bool
}

// Followed notes how far this relay has followed another one.
type Followed struct {
	Source string
	To     Place
}

// Place is a place in another relay's history: nothing is missing of what
// arrived there up to a number, and of what was superseded up to a time.
type Place struct{ Number, Time int64 }

// Configure sets the options that the commands after it are executed under.
type Configure struct{ Live Live }

// Administer changes a list, nil for none, and writes the call to the audit
// table.
type Administer struct {
	Change *AdminEntry
	Call   AdminCall
}

// UseCalls notes calls and forgets those from before a time. Its answer has a
// bool for each call: whether it had been noted before.
type UseCalls struct {
	Calls  []UsedCall
	Before int64
}

// Stage puts a snapshot's events aside for the restore with this number.
type Stage struct {
	Restore int64
	Events  []Staged
}

// Staged is an event of a snapshot.
type Staged struct {
	Part  Part
	Event []byte // JSON
}

// Unstage forgets some of the events staged for a restore, or for all restores
// if it is 0. Its answer is whether there may be more.
type Unstage struct{ Restore int64 }

// SwitchState makes what was staged the state that readers see. It is answered
// with Restored.
type SwitchState struct {
	Restore int64
	Options RestoreOptions
}

// ReleaseQuarantine brings back what a rollback took away. Its answer is a
// Restored.
type ReleaseQuarantine struct{ Name string }

// DropQuarantine forgets what a rollback took away, but for the events' ids.
type DropQuarantine struct{ Name string }

// RemoveRows removes what filters of the operator matched. Its answer is a
// Removal.
type RemoveRows struct{ Rows []MatchedRow }

// MatchedRow names a row by its number; a quarantined row needs the event's ID
// too.
type MatchedRow struct {
	Quarantined bool
	Seq         int64
	ID          []byte
	Kind        int
}

// Retire removes events by their numbers: as many, from the first on, as one
// transaction may remove. Its answer is how many.
type Retire struct{ Events []RetiredEvent }

// RetiredEvent is an event that retention removes, with the size of its JSON.
type RetiredEvent struct{ Seq, Size int64 }

// GoOn does the next step of work that an earlier command began and that takes
// more than one transaction: a large request to vanish or to delete.
type GoOn struct{}

// Housekeep does one step of what is due: Expiry removes what has expired,
// Prune removes what history no longer keeps, for contracts from After on. Its
// answer is whether there is more.
type Housekeep struct {
	Expiry, Prune bool
	After         FinalPair
}

// FinalPair is a place in the order of contracts that have ended.
type FinalPair struct {
	At       int64
	Contract string
	A, B     []byte
}

// Tighten forgets keys that nothing names any more, some at a time. Its answer
// is whether there may be more.
type Tighten struct{}

// ForgetParties removes the keys of vanished authors from contracts in which
// nothing names them any more, some at a time. Its answer is whether there may
// be more.
type ForgetParties struct{}

func (PutEvent) command()          {}
func (SubmitEvent) command()       {}
func (PutCopy) command()           {}
func (Followed) command()          {}
func (Configure) command()         {}
func (Administer) command()        {}
func (UseCalls) command()          {}
func (Stage) command()             {}
func (Unstage) command()           {}
func (SwitchState) command()       {}
func (ReleaseQuarantine) command() {}
func (DropQuarantine) command()    {}
func (RemoveRows) command()        {}
func (Retire) command()            {}
func (GoOn) command()              {}
func (Housekeep) command()         {}
func (Tighten) command()           {}
func (ForgetParties) command()     {}
