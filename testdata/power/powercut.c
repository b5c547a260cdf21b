/*
 * powercut.so, for LD_PRELOAD: writes down what a process does to the files below
 * one folder through the C library, in the order in which it was done, with the
 * data, so that a test can say what a disk may hold when the power goes at any
 * moment; and makes the n-th of those calls fail on demand.
 *
 * E2E_POWER_ROOT names the folder, E2E_POWER_LOG the file to append to (several
 * processes may), E2E_POWER_CONTROL the file that the test has mapped too, laid
 * out as struct control; the test is internal/e2e/power. Temporary files without
 * a name and -shm are left out: no disk keeps them.
 *
 * Go makes its system calls itself, and they are not seen here. Of the files that
 * Go writes there is one whose order with the rest matters, E2E_POWER_BESIDE: it
 * is read before each call, and written down when it has changed.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#define FILES 65536
#define BESIDE 4096 /* bytes of the file beside that are looked at */

enum { OPEN = 1, WRITE, TRUNCATE, SYNC_BEGIN, SYNC_END, SYNC_FAILED, UNLINK, BESIDE_NOW };
enum { ON_WRITE = 1, ON_SYNC = 2, ON_TRUNCATE = 3 }; /* control.call */
enum { ON_DATABASE = 1, ON_LOG = 2 };                /* control.file */

/* Record as it lies in the file; the path and the data follow. */
struct record {
	uint32_t op, path, data, pid;
	uint64_t at; /* of a write its offset, of an open and a truncate the size, of a sync its number */
};

struct control {
	_Atomic uint64_t file, call; /* what fails; 0: nothing */
	_Atomic uint64_t skip;       /* so many calls go well before */
	_Atomic uint64_t times;      /* so many fail */
	_Atomic uint64_t fail;       /* errno */
	_Atomic uint64_t half;       /* of the first write that fails half is written */
	_Atomic uint64_t failed;     /* so many have failed */
};

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static char *paths[FILES]; /* by descriptor; NULL: not ours */
static const char *root, *beside;
static char beside_was[BESIDE];
static ssize_t beside_size = -1;
static int log_fd = -1;
static uint64_t syncs;
static struct control *control;

static int (*real_open)(const char *, int, ...);
static int (*real_close)(int);
static ssize_t (*real_write)(int, const void *, size_t);
static ssize_t (*real_pwrite)(int, const void *, size_t, off64_t);
static int (*real_truncate)(int, off64_t);
static int (*real_fsync)(int);
static int (*real_unlink)(const char *);

static void die(const char *what)
{
	perror(what);
	abort();
}

__attribute__((constructor)) static void begin(void)
{
	real_open = (int (*)(const char *, int, ...))dlsym(RTLD_NEXT, "open64");
	real_close = (int (*)(int))dlsym(RTLD_NEXT, "close");
	real_write = (ssize_t(*)(int, const void *, size_t))dlsym(RTLD_NEXT, "write");
	real_pwrite = (ssize_t(*)(int, const void *, size_t, off64_t))dlsym(RTLD_NEXT, "pwrite64");
	real_truncate = (int (*)(int, off64_t))dlsym(RTLD_NEXT, "ftruncate64");
	real_fsync = (int (*)(int))dlsym(RTLD_NEXT, "fsync");
	real_unlink = (int (*)(const char *))dlsym(RTLD_NEXT, "unlink");
	const char *log = getenv("E2E_POWER_LOG"), *page = getenv("E2E_POWER_CONTROL");
	root = getenv("E2E_POWER_ROOT");
	beside = getenv("E2E_POWER_BESIDE");
	if (log == NULL || root == NULL || page == NULL)
		return;
	int fd = real_open(page, O_RDWR | O_CLOEXEC);
	if (fd < 0)
		die("powercut: control");
	void *p = mmap(NULL, sizeof(struct control), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (p == MAP_FAILED)
		die("powercut: mmap");
	control = p;
	real_close(fd);
	log_fd = real_open(log, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
	if (log_fd < 0)
		die("powercut: log");
}

/* ours says whether a path is below the folder and no scratch. */
static int ours(const char *path)
{
	if (log_fd < 0 || path == NULL || strncmp(path, root, strlen(root)) != 0 || strstr(path, "/etilqs_") != NULL)
		return 0;
	size_t n = strlen(path);
	return n < 4 || strcmp(path + n - 4, "-shm") != 0;
}

/* note appends one record. The caller holds the mutex. */
static void note(uint32_t op, const char *path, uint64_t at, const void *data, size_t n)
{
	struct record r = {.op = op, .path = (uint32_t)strlen(path), .data = (uint32_t)n, .pid = (uint32_t)getpid(), .at = at};
	struct iovec parts[3] = {{&r, sizeof r}, {(void *)path, r.path}, {(void *)data, n}};
	if (writev(log_fd, parts, 3) != (ssize_t)(sizeof r + r.path + n))
		die("powercut: append");
}

/* look writes down the file beside when it has changed. The caller holds the mutex. */
static void look(void)
{
	char now[BESIDE];
	if (beside == NULL)
		return;
	int fd = real_open(beside, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return;
	ssize_t n = read(fd, now, sizeof now);
	real_close(fd);
	if (n < 0 || (n == beside_size && memcmp(now, beside_was, (size_t)n) == 0))
		return;
	beside_size = n;
	memcpy(beside_was, now, (size_t)n);
	note(BESIDE_NOW, beside, 0, now, (size_t)n);
}

/* enter keeps out every other call, of other processes too: doing it and writing it
 * down is one step. The test does the same around a kill. */
static void enter(void)
{
	pthread_mutex_lock(&mutex);
	while (flock(log_fd, LOCK_EX) != 0)
		if (errno != EINTR)
			die("powercut: lock");
}

static void unlock(void)
{
	int err = errno;
	flock(log_fd, LOCK_UN);
	pthread_mutex_unlock(&mutex);
	errno = err;
}

/* lock begins a call on a descriptor: its path, or NULL, when nothing is locked. */
static const char *lock(int fd)
{
	if (log_fd < 0 || fd < 0 || fd >= FILES || fd == log_fd || paths[fd] == NULL)
		return NULL;
	enter();
	if (paths[fd] == NULL) {
		unlock();
		return NULL;
	}
	look();
	return paths[fd];
}

static uint64_t file_of(const char *path)
{
	size_t n = strlen(path);
	if (n > 4 && strcmp(path + n - 4, "-wal") == 0)
		return ON_LOG;
	return n > 3 && strcmp(path + n - 3, ".db") == 0 ? ON_DATABASE : 0;
}

/* fails says whether this call is to fail. The caller holds the mutex. */
static int fails(const char *path, uint64_t call)
{
	if (atomic_load(&control->call) != call || atomic_load(&control->file) != file_of(path))
		return 0;
	if (atomic_load(&control->skip) > 0) {
		atomic_fetch_sub(&control->skip, 1);
		return 0;
	}
	if (atomic_load(&control->times) == 0)
		return 0;
	atomic_fetch_sub(&control->times, 1);
	atomic_fetch_add(&control->failed, 1);
	return 1;
}

int open64(const char *path, int flags, ...)
{
	va_list args;
	va_start(args, flags);
	int mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(args, int) : 0;
	va_end(args);
	if (!ours(path))
		return real_open(path, flags, mode);
	enter();
	look();
	struct stat info;
	int was = stat(path, &info) == 0;
	int fd = real_open(path, flags, mode);
	if (fd >= 0 && fd < FILES && fd != log_fd) {
		free(paths[fd]);
		paths[fd] = strdup(path);
		if (!(was && S_ISDIR(info.st_mode)))
			note(OPEN, path, was ? (uint64_t)info.st_size : UINT64_MAX, NULL, 0);
	}
	unlock();
	return fd;
}

int open(const char *path, int flags, ...)
{
	va_list args;
	va_start(args, flags);
	int mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(args, int) : 0;
	va_end(args);
	return open64(path, flags, mode);
}

int close(int fd)
{
	if (lock(fd) != NULL) {
		free(paths[fd]);
		paths[fd] = NULL;
		unlock();
	}
	return real_close(fd);
}

static ssize_t put(int fd, const char *path, const void *buf, size_t n, off64_t at)
{
	if (fails(path, ON_WRITE)) {
		if (atomic_exchange(&control->half, 0) == 0 || n < 2) {
			errno = (int)atomic_load(&control->fail);
			return -1;
		}
		n /= 2;
	}
	ssize_t done = real_pwrite(fd, buf, n, at);
	if (done > 0)
		note(WRITE, path, (uint64_t)at, buf, (size_t)done);
	return done;
}

ssize_t pwrite64(int fd, const void *buf, size_t n, off64_t at)
{
	const char *path = lock(fd);
	if (path == NULL)
		return real_pwrite(fd, buf, n, at);
	ssize_t done = put(fd, path, buf, n, at);
	unlock();
	return done;
}

ssize_t pwrite(int fd, const void *buf, size_t n, off_t at)
{
	return pwrite64(fd, buf, n, at);
}

ssize_t write(int fd, const void *buf, size_t n)
{
	const char *path = lock(fd);
	if (path == NULL)
		return real_write(fd, buf, n);
	off64_t at = lseek64(fd, 0, SEEK_CUR);
	ssize_t done = put(fd, path, buf, n, at);
	if (done > 0)
		lseek64(fd, at + done, SEEK_SET);
	unlock();
	return done;
}

int ftruncate64(int fd, off64_t size)
{
	const char *path = lock(fd);
	if (path == NULL)
		return real_truncate(fd, size);
	int rc = -1;
	if (fails(path, ON_TRUNCATE))
		errno = (int)atomic_load(&control->fail);
	else if ((rc = real_truncate(fd, size)) == 0)
		note(TRUNCATE, path, (uint64_t)size, NULL, 0);
	unlock();
	return rc;
}

int ftruncate(int fd, off_t size)
{
	return ftruncate64(fd, size);
}

/* What was written before a sync began is durable when it has ended, and what is
 * written meanwhile is not: other calls go on beside it. */
int fsync(int fd)
{
	const char *path = lock(fd);
	if (path == NULL)
		return real_fsync(fd);
	char name[4096];
	snprintf(name, sizeof name, "%s", path);
	uint64_t number = ++syncs;
	int fail = fails(name, ON_SYNC);
	note(SYNC_BEGIN, name, number, NULL, 0);
	unlock();
	int rc = fail ? -1 : real_fsync(fd), err = fail ? (int)atomic_load(&control->fail) : errno;
	enter();
	note(rc == 0 ? SYNC_END : SYNC_FAILED, name, number, NULL, 0);
	unlock();
	errno = err;
	return rc;
}

int fdatasync(int fd)
{
	return fsync(fd);
}

int unlink(const char *path)
{
	if (!ours(path))
		return real_unlink(path);
	enter();
	look();
	int rc = real_unlink(path);
	if (rc == 0)
		note(UNLINK, path, 0, NULL, 0);
	unlock();
	return rc;
}

/* What would pass this layer by ends the process: a test that sees less than the
 * disk proves nothing. */
int rename(const char *from, const char *to)
{
	if (ours(from) || ours(to))
		die("powercut: rename is not written down");
	static int (*real)(const char *, const char *);
	if (real == NULL)
		real = (int (*)(const char *, const char *))dlsym(RTLD_NEXT, "rename");
	return real(from, to);
}

int link(const char *from, const char *to)
{
	if (ours(from) || ours(to))
		die("powercut: link is not written down");
	static int (*real)(const char *, const char *);
	if (real == NULL)
		real = (int (*)(const char *, const char *))dlsym(RTLD_NEXT, "link");
	return real(from, to);
}
