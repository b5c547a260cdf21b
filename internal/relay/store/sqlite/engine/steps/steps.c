#include <stdint.h>
#include <time.h>
#include "steps.h"
#include "_cgo_export.h"

// Of SQLite, which mattn/go-sqlite3 compiles into the program.
typedef struct sqlite3 sqlite3;
typedef struct sqlite3_context sqlite3_context;
typedef struct sqlite3_value sqlite3_value;
void sqlite3_progress_handler(sqlite3 *, int, int (*)(void *), void *) __attribute__((weak));
int sqlite3_create_function_v2(sqlite3 *, const char *, int, int, void *,
	void (*)(sqlite3_context *, int, sqlite3_value **), void *, void *, void *) __attribute__((weak));
void *sqlite3_user_data(sqlite3_context *) __attribute__((weak));
int64_t sqlite3_value_int64(sqlite3_value *) __attribute__((weak));
void sqlite3_result_int(sqlite3_context *, int) __attribute__((weak));

enum { UTF8 = 1, DIRECTONLY = 0x80000 };

static int64_t now(void) {
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * INT64_C(1000000000) + t.tv_nsec;
}

// To enter Go may cost a switch of threads, to count here costs nothing.
static int handler(void *arg) {
	engramdWatched *w = arg;
	w->steps += w->every;
	if (w->steps < w->most) {
		int64_t t = now();
		if (w->since == 0) w->since = t;
		if (t - w->since < w->patience) return 0;
	}
	int64_t steps = w->steps;
	w->steps = 0;
	int end = engramdSteps(w->handle, steps);
	w->since = now();
	return end;
}

static void mark(sqlite3_context *ctx, int n, sqlite3_value **values) {
	((engramdWatched *)sqlite3_user_data(ctx))->at = sqlite3_value_int64(values[0]);
	sqlite3_result_int(ctx, 1);
}

int engramdWatch(uintptr_t db, engramdWatched *w) {
	if (!sqlite3_progress_handler || !sqlite3_create_function_v2) return 1;
	sqlite3_progress_handler((sqlite3 *)db, w->every, handler, w);
	return sqlite3_create_function_v2((sqlite3 *)db, "engramd_mark", 1, UTF8 | DIRECTONLY, w, mark, 0, 0, 0);
}

void engramdUnwatch(uintptr_t db) {
	sqlite3_progress_handler((sqlite3 *)db, 0, 0, 0);
	sqlite3_create_function_v2((sqlite3 *)db, "engramd_mark", 1, UTF8, 0, 0, 0, 0, 0);
}
