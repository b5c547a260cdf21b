package sqlite

import "engramd/internal/store"

// The names of package store that this package speaks of most.
type (
	AdminList        = store.AdminList
	AdminVerdict     = store.AdminVerdict
	AdminEntry       = store.AdminEntry
	AdminCall        = store.AdminCall
	Part             = store.Part
	CaptureQuery     = store.CaptureQuery
	ContractPair     = store.ContractPair
	ContractTerms    = store.ContractTerms
	ContractDecision = store.ContractDecision
	EntryForm        = store.EntryForm
	ThreadEntry      = store.ThreadEntry
	Thread           = store.Thread
	ThreadGroup      = store.ThreadGroup
	Agent            = store.Agent
	ThreadMove       = store.ThreadMove
	OrderItem        = store.OrderItem
	Gap              = store.Gap
	OutboxItem       = store.OutboxItem
	ContractRefusal  = store.ContractRefusal
	Sealed           = store.Sealed
	Quarantine       = store.Quarantine
	Usage            = store.Usage
	Reads            = store.Reads
	SlowRead         = store.SlowRead
	Recent           = store.Recent
	RelayKey         = store.RelayKey
	Removal          = store.Removal
	RestoreMode      = store.RestoreMode
	RestoreOptions   = store.RestoreOptions
	Restored         = store.Restored
	Space            = store.Space
	Live             = store.Live
	Quota            = store.Quota
	Observer         = store.Observer
	Outcome          = store.Outcome
	Result           = store.Result
	PutOptions       = store.PutOptions
	Committed        = store.Committed
	Position         = store.Position
	Row              = store.Row
	Page             = store.Page
	Ask              = store.Ask
	HistoryQuery     = store.HistoryQuery
	Report           = store.Report
	Displaced        = store.Displaced
	Astray           = store.Astray
	Problem          = store.Problem
	UsedCall         = store.UsedCall
)

const (
	MsgBanned     = store.MsgBanned
	AdminPubkeys  = store.AdminPubkeys
	AdminEvents   = store.AdminEvents
	AdminKinds    = store.AdminKinds
	AdminNetworks = store.AdminNetworks
	AdminInfo     = store.AdminInfo
	AdminNone     = store.AdminNone
	AdminBanned   = store.AdminBanned
	AdminAllowed  = store.AdminAllowed
	AdminSet      = store.AdminSet
	AdminOperator = store.AdminOperator
	Heads         = store.Heads
	Versions      = store.Versions
	Deletions     = store.Deletions
	Relays        = store.Relays
	Contracts     = store.Contracts
	EntryShared   = store.EntryShared
	EntrySealed   = store.EntrySealed
	EntryPrivate  = store.EntryPrivate
	OutboxLocal   = store.OutboxLocal
	MsgTaken      = store.MsgTaken
	GuessedText   = store.GuessedText
	MsgRemoved    = store.MsgRemoved
	Repair        = store.Repair
	Rollback      = store.Rollback
	Stored        = store.Stored
	Replaced      = store.Replaced
	Duplicate     = store.Duplicate
	Stale         = store.Stale
	Deleted       = store.Deleted
	Conflict      = store.Conflict
	Refused       = store.Refused
	Failed        = store.Failed
	MsgDuplicate  = store.MsgDuplicate
	MsgDeleted    = store.MsgDeleted
	MsgStale      = store.MsgStale
	MsgConflict   = store.MsgConflict
)

var (
	ErrAdminFull     = store.ErrAdminFull
	ErrNotCovered    = store.ErrNotCovered
	ErrNoPlace       = store.ErrNoPlace
	ErrContractMoved = store.ErrContractMoved
	ErrEntryTaken    = store.ErrEntryTaken
	ErrEntriesFull   = store.ErrEntriesFull
	ErrNameTaken     = store.ErrNameTaken
	ErrKeyNamed      = store.ErrKeyNamed
	ErrNotHeld       = store.ErrNotHeld
	ErrNoAgent       = store.ErrNoAgent
	ErrKeyKept       = store.ErrKeyKept
	ErrAgentsFull    = store.ErrAgentsFull
	ErrOutboxFull    = store.ErrOutboxFull
	ErrOtherVault    = store.ErrOtherVault
	ErrTimeout       = store.ErrTimeout
	ErrClosed        = store.ErrClosed
	ErrReadOnly      = store.ErrReadOnly
	ErrFull          = store.ErrFull
	ErrRestart       = store.ErrRestart
	ErrEnded         = store.ErrEnded
	ErrNoQuarantine  = store.ErrNoQuarantine
	ErrRevokedKey    = store.ErrRevokedKey
	ErrNoSearch      = store.ErrNoSearch
	ErrFilter        = store.ErrFilter
)

// FoldName is what an agent id is compared by.
func FoldName(id string) string { return store.FoldName(id) }
