/*
 * fsynccount.so, for LD_PRELOAD: records every fsync and fdatasync of a process
 * in a file that the test has mapped too, delays or fails them on demand, and
 * fails reads of the database on demand.
 *
 * The file is named by E2E_FSYNCS and laid out as struct shared; the
 * test (internal/e2e/rig/fsync.go) reads and writes the same words. Times are
 * CLOCK_MONOTONIC in nanoseconds, which all processes of a machine share.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define ENTRIES 4096

enum { OTHER = 0, WAL = 1, DATABASE = 2 };

struct entry {
	_Atomic uint64_t start, end, file, failed;
};

struct shared {
	_Atomic uint64_t calls;    /* begun, all files */
	_Atomic uint64_t delay_us; /* set by the test: wait this long after the sync */
	_Atomic uint64_t fail;     /* set by the test: errno to return instead of syncing the WAL */
	_Atomic uint64_t fail_reads; /* set by the test: errno for every read of database and WAL */
	_Atomic uint64_t unused[4];
	struct entry entries[ENTRIES]; /* entry n is at n % ENTRIES; end is written last */
};

static struct shared *shared;

__attribute__((constructor)) static void open_shared(void)
{
	const char *path = getenv("E2E_FSYNCS");
	if (path == NULL)
		return;
	int fd = open(path, O_RDWR | O_CLOEXEC);
	if (fd < 0) {
		perror("fsynccount: open");
		abort();
	}
	void *p = mmap(NULL, sizeof(struct shared), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (p == MAP_FAILED) {
		perror("fsynccount: mmap");
		abort();
	}
	close(fd);
	shared = p;
}

static uint64_t now(void)
{
	struct timespec ts;
	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

static int ends_with(const char *s, const char *suffix)
{
	size_t n = strlen(s), m = strlen(suffix);
	return n >= m && strcmp(s + n - m, suffix) == 0;
}

static uint64_t file_of(int fd)
{
	char link[64], path[4096];
	snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
	ssize_t n = readlink(link, path, sizeof path - 1);
	if (n < 0)
		return OTHER;
	path[n] = 0;
	if (ends_with(path, "-wal"))
		return WAL;
	return ends_with(path, ".db") || ends_with(path, ".sqlite") ? DATABASE : OTHER;
}

static int record(int fd, int (*real)(int))
{
	if (shared == NULL)
		return real(fd);
	struct entry *e = &shared->entries[atomic_fetch_add(&shared->calls, 1) % ENTRIES];
	uint64_t file = file_of(fd), fail = file == WAL ? atomic_load(&shared->fail) : 0;
	atomic_store(&e->end, 0);
	atomic_store(&e->file, file);
	atomic_store(&e->failed, fail);
	atomic_store(&e->start, now());
	int rc = fail ? -1 : real(fd);
	int err = fail ? (int)fail : errno;
	uint64_t delay = atomic_load(&shared->delay_us);
	if (delay > 0) {
		struct timespec ts = {.tv_sec = (time_t)(delay / 1000000), .tv_nsec = (long)(delay % 1000000) * 1000};
		while (nanosleep(&ts, &ts) != 0 && errno == EINTR)
			;
	}
	atomic_store(&e->end, now());
	errno = err;
	return rc;
}

int fsync(int fd)
{
	static int (*real)(int);
	if (real == NULL)
		real = (int (*)(int))dlsym(RTLD_NEXT, "fsync");
	return record(fd, real);
}

int fdatasync(int fd)
{
	static int (*real)(int);
	if (real == NULL)
		real = (int (*)(int))dlsym(RTLD_NEXT, "fdatasync");
	return record(fd, real);
}

static int read_fails(int fd)
{
	uint64_t fail = shared == NULL ? 0 : atomic_load(&shared->fail_reads);
	if (fail == 0 || file_of(fd) == OTHER)
		return 0;
	errno = (int)fail;
	return 1;
}

ssize_t read(int fd, void *buf, size_t n)
{
	static ssize_t (*real)(int, void *, size_t);
	if (real == NULL)
		real = (ssize_t (*)(int, void *, size_t))dlsym(RTLD_NEXT, "read");
	return read_fails(fd) ? -1 : real(fd, buf, n);
}

ssize_t pread(int fd, void *buf, size_t n, off_t at)
{
	static ssize_t (*real)(int, void *, size_t, off_t);
	if (real == NULL)
		real = (ssize_t (*)(int, void *, size_t, off_t))dlsym(RTLD_NEXT, "pread");
	return read_fails(fd) ? -1 : real(fd, buf, n, at);
}

ssize_t pread64(int fd, void *buf, size_t n, off64_t at)
{
	static ssize_t (*real)(int, void *, size_t, off64_t);
	if (real == NULL)
		real = (ssize_t (*)(int, void *, size_t, off64_t))dlsym(RTLD_NEXT, "pread64");
	return read_fails(fd) ? -1 : real(fd, buf, n, at);
}

/* The database is not mapped under this library, so that reads are reads. */
void *mmap(void *addr, size_t n, int prot, int flags, int fd, off_t at)
{
	if (fd >= 0 && shared != NULL && file_of(fd) == DATABASE) {
		errno = ENODEV;
		return MAP_FAILED;
	}
	return (void *)syscall(SYS_mmap, addr, n, prot, flags, fd, at);
}

void *mmap64(void *addr, size_t n, int prot, int flags, int fd, off64_t at)
{
	return mmap(addr, n, prot, flags, fd, at);
}
