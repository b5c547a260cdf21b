package engine

import "engramd/internal/relay/store"

// Job is what began in a transaction and takes more of them. The rest of it is
// done step by step, by GoOn, in the order in which jobs began.
type Job struct {
	Member *Member // answered when the job is done; nil for one that an earlier process began
	Step   func() (more bool, err error)
	Save   func() (restore func()) // how far it is

	result store.Result
}

// StartJob has a job done after the commit of the transaction under way.
func (w *Writer) StartJob(j *Job) { w.stage.jobs = append(w.stage.jobs, j) }

// ResumeJob has a job done that an earlier process began.
func (w *Writer) ResumeJob(j *Job) { w.jobs = append(w.jobs, j) }

// Busy reports whether there is a job to go on with.
func (w *Writer) Busy() bool { return len(w.jobs) > 0 }

// GoOn does the next step of the oldest job, within a transaction, and reports
// whether it has more.
func (w *Writer) GoOn() (more bool, err error) {
	if len(w.jobs) == 0 {
		return false, nil
	}
	j := w.jobs[0]
	w.stage.restore = append(w.stage.restore, j.Save())
	more, err = j.Step()
	if err == nil && !more {
		w.stage.ended = j
	}
	return more, err
}

// GiveUp ends the oldest job with an error.
func (w *Writer) GiveUp(err error) {
	w.jobs[0].result = failure(WriteError(err))
	w.endJob()
}

// endJob takes the oldest job off the list and answers who waits for it.
func (w *Writer) endJob() {
	j := w.jobs[0]
	w.jobs = w.jobs[1:]
	if j.Member != nil {
		j.Member.finish(j.result)
	}
}

// jobOf is the job that will answer m, if there is one.
func (w *Writer) jobOf(m *Member) *Job {
	for _, j := range w.jobs {
		if j.Member == m {
			return j
		}
	}
	return nil
}
