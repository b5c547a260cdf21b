// Package sigbus leaves a word when the process ends because a page of a mapped
// file could not be read, as one with a bad sector. The system tells that by a
// signal in the middle of SQLite's own code, where Go can only end.
package sigbus

/*
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

// What on_bus may touch is set before, and nothing that allocates or locks is called
// there.
static char engramd_mark[4096];
static char engramd_said[4200];

static void on_bus(int sig) {
	if (engramd_mark[0]) {
		int fd = open(engramd_mark, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
		if (fd >= 0) {
			(void)!fsync(fd);
			close(fd);
		}
		(void)!write(2, engramd_said, strlen(engramd_said));
	}
	signal(sig, SIG_DFL); // the same page ends the process when it is read again
}

// Go's runtime passes a signal that comes in C code on to the handler that was
// there before it began.
__attribute__((constructor)) static void engramd_watch(void) {
	struct sigaction a;
	memset(&a, 0, sizeof a);
	a.sa_handler = on_bus;
	a.sa_flags = SA_ONSTACK;
	sigfillset(&a.sa_mask);
	sigaction(SIGBUS, &a, 0);
}

static void engramd_leave(const char *mark, const char *said) {
	engramd_mark[0] = 0;
	strncpy(engramd_said, said, sizeof engramd_said - 1);
	strncpy(engramd_mark, mark, sizeof engramd_mark - 1);
}
*/
import "C"

import (
	"fmt"
	"os"
	"unsafe"
)

// Leave has an empty file made at mark, and a line written to stderr, if this process
// ends for a page of file. Of several calls the last one counts.
func Leave(mark, file string) {
	said := fmt.Sprintf("engramd: a page of %s could not be read (SIGBUS); the next start reads it without mmap\n", file)
	m, s := C.CString(mark), C.CString(said)
	defer C.free(unsafe.Pointer(m))
	defer C.free(unsafe.Pointer(s))
	C.engramd_leave(m, s)
}

// Left reports whether a mark was left.
func Left(mark string) bool {
	_, err := os.Stat(mark)
	return err == nil
}
