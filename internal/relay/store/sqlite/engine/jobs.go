package engine

import (
	"slices"

	"engramd/internal/relay/store"
)

// Job is what began in a transaction and takes more of them. The rest of it is
// done step by step, by GoOn, in the order in which jobs began.
type Job struct {
	Member *Member // answered when the job is done; nil for one that an earlier process began
	Step   func() (more bool, err error)
	Save   func() (restore func()) // how far it is
	Of     any                     // what it does, to who knows it

	result store.Result
}

// jobs are those under way, and what the current transaction means to them once
// it is durable.
type jobs struct {
	list    []*Job
	given   []*Job   // up, after an error: they are done at the next open
	begun   []*Job   // to go on with after the commit
	ended   *Job     // the oldest one is done
	restore []func() // takes jobs back to where they were, if the transaction fails
}

// StartJob has a job done after the commit of the transaction under way.
func (s *jobs) StartJob(j *Job) { s.begun = append(s.begun, j) }

// ResumeJob has a job done that an earlier process began.
func (s *jobs) ResumeJob(j *Job) { s.list = append(s.list, j) }

// Jobs are those that are not done yet, as the current transaction sees them: of
// those that were given up the last mostGiven.
func (s *jobs) Jobs() []*Job {
	if len(s.begun) == 0 && len(s.given) == 0 {
		return s.list
	}
	return slices.Concat(s.list, s.begun, s.given)
}

const mostGiven = 64

// Busy reports whether there is a job to go on with.
func (s *jobs) Busy() bool { return len(s.list) > 0 }

// GoOn does the next step of the oldest job, within a transaction, and reports
// whether it has more.
func (s *jobs) GoOn() (more bool, err error) {
	if len(s.list) == 0 {
		return false, nil
	}
	j := s.list[0]
	s.restore = append(s.restore, j.Save())
	more, err = j.Step()
	if err == nil && !more {
		s.ended = j
	}
	return more, err
}

// GiveUp ends the oldest job with an error.
func (s *jobs) GiveUp(err error) {
	j := s.list[0]
	j.result = failure(WriteError(err))
	s.endJob()
	if j.Of != nil {
		j.Member = nil // it has its answer
		s.given = append(s.given[max(0, len(s.given)+1-mostGiven):len(s.given):len(s.given)], j)
	}
}

// endJob takes the oldest job off the list and answers who waits for it.
func (s *jobs) endJob() {
	j := s.list[0]
	s.list = s.list[1:]
	if j.Member != nil {
		j.Member.finish(j.result)
	}
}

// jobOf is the job that will answer m, if there is one.
func (s *jobs) jobOf(m *Member) *Job {
	for _, j := range s.list {
		if j.Member == m {
			return j
		}
	}
	return nil
}

// abandon answers jobs that the end of the store cuts short; what they have to
// do is recorded and done at the next open.
func (s *jobs) abandon() {
	for _, j := range s.list {
		if j.Member != nil {
			j.Member.finish(failure(store.ErrClosed))
		}
	}
	s.list = nil
}

// beginTransaction forgets what the last one meant.
func (s *jobs) beginTransaction() { *s = jobs{list: s.list, given: s.given} }

// rolledBack takes jobs back to where they were.
func (s *jobs) rolledBack() {
	for _, restore := range s.restore {
		restore()
	}
	s.beginTransaction()
}
