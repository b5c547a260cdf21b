package fairness

import "runtime"

// processors is looked at before Beside changes it.
var processors = runtime.GOMAXPROCS(0)

// Processors returns how many computations get anything done at a time.
func Processors() int { return processors }

// Beside lets Go run on all processors beside so many threads that compute in
// C. Such a thread keeps the place among Go's own that it had, until somebody
// notices that others wait, which takes up to ten milliseconds: every time, and
// for all that the process does. With places for all of them nobody has to
// notice, and the kernel divides the processors.
func Beside(inC int) { runtime.GOMAXPROCS(processors + inC) }
