package contracts

import (
	"fmt"

	"engramd/internal/relay/store"
	"engramd/internal/relay/store/sqlite/engine"
)

// Statement is a statement of the contract memory and what its plan may
// have.
type Statement struct {
	Text         string
	Args         []engine.Value
	Scans, Sorts bool
}

// Statements are the statements that read contracts and threads.
func Statements(t store.Thread) map[string]Statement {
	k := make([]byte, 32)
	page, args := thread(t).union(sqlPlaces, "")
	next, nextArgs := thread(t).union(sqlEntries, " AND (n, k, id) > (?, ?, ?)", int64(1), int64(1), k)
	one, oneArgs := thread(t).union(sqlNamed, " AND entry = ?", "mem_0")
	part := thread(t).parts()[0]
	groups, groupArgs := part.sql(sqlGroups, "")
	times, timesArgs := part.sql(sqlEntryTimes, "")
	of := func(places string, args []engine.Value, more ...engine.Value) Statement {
		return Statement{Text: fmt.Sprintf(sqlEntriesAt, places), Args: append(append(args, more...), "c")}
	}
	return map[string]Statement{
		"page":              of(page+inOrder+" LIMIT ? OFFSET ?", args, int64(50), int64(0)),
		"page, from behind": of(page+inReverse+" LIMIT ? OFFSET ?", args, int64(50), int64(0)),
		"next":              {Text: next + inOrder + " LIMIT ?", Args: append(nextArgs, int64(50))},
		"entry":             of(one+inOrder+" LIMIT 1", oneArgs).sorting(), // those of one name
		"groups":            {Text: groups, Args: groupArgs},
		"counter":           {Text: sqlCounter, Args: []engine.Value{int64(1)}},
		"furthest":          {Text: sqlFurthest, Args: []engine.Value{"c", k}},
		"order, an offer":   {Text: sqlOrderOffer + " ORDER BY 1", Args: []engine.Value{int64(1), k, k}},
		"first":             {Text: times + " ORDER BY created_at LIMIT 1", Args: timesArgs},
		"last":              {Text: times + " ORDER BY created_at DESC LIMIT 1", Args: timesArgs},
		"thread":            {Text: sqlThreadOf, Args: []engine.Value{"c", k, k}},
		"taker":             {Text: sqlTaker, Args: []engine.Value{"c", k}, Sorts: true}, // the pairs of one poster in one contract
		"free thread":       {Text: sqlFreeThread},
		"shared thread":     {Text: sqlShared, Args: []engine.Value{int64(1), k}},
		"private, last":     {Text: sqlPrivateK, Args: []engine.Value{k, "c"}},
		"came":              {Text: sqlEntryCame, Args: []engine.Value{"c", k, k, int64(1), k, int64(1)}},
		"order, entries":    {Text: sqlOrderEntries + " ORDER BY 1", Args: []engine.Value{"c", k, k}},
		"order, moves":      {Text: sqlOrderMoves + " ORDER BY 1", Args: []engine.Value{int64(1)}},
		"order, gaps":       {Text: sqlOrderGaps + " ORDER BY 1", Args: []engine.Value{int64(1)}},
		"withdraw, entries": {Text: sqlWithdrawEntries + ofOwnAddress, Args: []engine.Value{int64(1), k, int64(1), k, "c", int64(1)}},
		"withdraw, moves":   {Text: sqlWithdrawMoves + ofSeq, Args: []engine.Value{int64(1), k, int64(1)}},
		"withdraw, waiting": {Text: sqlWithdrawWaiting + "id = ?4", Args: []engine.Value{int64(1), k, k, k}},
		"any waiting":       {Text: sqlAnyWaiting, Args: []engine.Value{k}},
		"taken":             {Text: sqlEntryTaken, Args: []engine.Value{"c", "mem_0", k, k, k}},
		"of a party":        {Text: sqlPairOfA, Args: []engine.Value{"c", k}},
		"of the other":      {Text: sqlPairOfB, Args: []engine.Value{"c", k}},
		"of everybody":      {Text: sqlPairLeft, Args: []engine.Value{"c"}},
		"by a poster":       {Text: sqlPairBy, Args: []engine.Value{"c", k}},
		"owner":             {Text: sqlOwner, Args: []engine.Value{"c"}},
		"accepted by":       {Text: sqlAccepted, Args: []engine.Value{"c", k}},
		"accepted":          {Text: sqlSigned, Args: []engine.Value{"c", k}},
		"last state":        {Text: sqlLastStep, Args: []engine.Value{"c", k}},
		"astray":            {Text: sqlAstray, Args: []engine.Value{"c", k, k, int64(9)}, Sorts: true}, // of one pair
		"fixed":             {Text: sqlFixed, Args: []engine.Value{"c", k, k}},
		"end of chain":      {Text: sqlEndOfChain, Args: []engine.Value{"c", k, k}},
		"restless":          {Text: sqlRestlessOf, Args: []engine.Value{"c", k, int64(9)}, Sorts: true},
		"salt":              {Text: sqlSalt, Args: []engine.Value{"c", k}},
		"pair":              {Text: sqlPairExact, Args: []engine.Value{"c", k, k}},
		"contracts":         {Text: sqlContracts, Args: []engine.Value{k, "", int64(50), int64(0)}},
		"contracts, count":  {Text: sqlContractsCount, Args: []engine.Value{k, ""}},
		"due":               {Text: sqlDue, Args: []engine.Value{int64(1), int64(9)}},
		"next due":          {Text: sqlFirstDue},
		"decision":          {Text: sqlDecided, Args: []engine.Value{"c", k, k}},
		"private, count":    {Text: sqlPrivateCount, Args: []engine.Value{"c", k}},
		"unindex":           {Text: sqlUnindexEntry, Args: []engine.Value{int64(1)}},
		"vanish":            {Text: sqlVanishPrivate, Args: []engine.Value{k, int64(1)}},
		"waiting":           {Text: sqlWaiting, Scans: true}, // the whole of a partial index, once, at start
		"moves":             {Text: sqlMoves, Args: []engine.Value{int64(1), int64(1), k, int64(1), int64(1), int64(50), int64(0)}},
		"moves, count":      {Text: sqlMovesCount, Args: []engine.Value{int64(1), int64(1), k, int64(1), int64(1)}},
		"is arbitrator":     {Text: sqlIsArbitrator, Args: []engine.Value{k}},
		"cases":             {Text: sqlCasesOf, Args: []engine.Value{k, `["c","d"]`, int64(64)}, Scans: true}, // the contracts that are named
		"of an arbitrator":  {Text: sqlPairOfArbitrator, Args: []engine.Value{"c", k, nil}, Sorts: true},      // the pairs of one contract
		"terms offered":     {Text: sqlOfferedTerms, Args: []engine.Value{"c", k, k}},
		"terms agreed":      {Text: sqlAgreedTerms, Args: []engine.Value{"c", k, k}, Sorts: true},
		"case":              {Text: sqlCase, Args: []engine.Value{"c", k, k}},
		"named by":          {Text: sqlNamedBy, Args: []engine.Value{"c", k, k, nil, int64(1)}},
		"decided for good":  {Text: sqlDecidedForGood, Args: []engine.Value{"c", k, k}},
		"verdicts":          {Text: sqlVerdicts, Args: []engine.Value{"c", int64(64)}, Sorts: true}, // those on one contract
		"placed elsewhere":  {Text: sqlPlacedElse, Args: []engine.Value{"c", k, k, int64(64)}, Sorts: true},
		"open offers":       {Text: sqlOpenOffers, Args: []engine.Value{"c", k, int64(9)}},
		"talk":              {Text: sqlTalk, Args: []engine.Value{"c", k}, Sorts: true}, // those of one id
		"talks":             {Text: sqlTalks, Args: []engine.Value{k, int64(50), int64(0)}},
		"talks, count":      {Text: sqlTalksCount, Args: []engine.Value{k}},
	}
}

// sorting lets a statement sort what it finds, which is little.
func (s Statement) sorting() Statement {
	s.Sorts = true
	return s
}

// opened is a store that is put together by somebody else.
type opened interface{ inside() *Store }

func (s *Store) inside() *Store { return s }

// DB is the database of a store.
func DB(o opened) *engine.DB { return o.inside().db }
