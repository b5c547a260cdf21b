#include <stdint.h>

// Of SQLite, which mattn/go-sqlite3 compiles into the program.
typedef struct sqlite3 sqlite3;
typedef struct sqlite3_context sqlite3_context;
typedef struct sqlite3_value sqlite3_value;
int sqlite3_create_function_v2(sqlite3 *, const char *, int, int, void *,
	void (*)(sqlite3_context *, int, sqlite3_value **), void *, void *, void *) __attribute__((weak));
int sqlite3_value_type(sqlite3_value *) __attribute__((weak));
int64_t sqlite3_value_int64(sqlite3_value *) __attribute__((weak));
int sqlite3_value_bytes(sqlite3_value *) __attribute__((weak));
const void *sqlite3_value_blob(sqlite3_value *) __attribute__((weak));
void sqlite3_result_int64(sqlite3_context *, int64_t) __attribute__((weak));

enum { UTF8 = 1, DETERMINISTIC = 0x800, DIRECTONLY = 0x80000 };
enum { INTEGER = 1, FLOAT = 2, TEXT = 3, BLOB = 4, NIL = 5 };

// For words that stay the same, add and end are one-to-one in h, and add is in
// w: a change of one word always changes the sum.
static inline uint64_t add(uint64_t h, uint64_t w) {
	h = (h ^ w) * UINT64_C(0x9e3779b97f4a7c15);
	return h ^ (h >> 29);
}

static inline uint64_t end(uint64_t h) {
	h = (h ^ (h >> 32)) * UINT64_C(0xd6e8feb86659fd93);
	return h ^ (h >> 32);
}

// The same on every machine, whatever its order of bytes.
static inline uint64_t word(const unsigned char *p) {
	return (uint64_t)p[0] | (uint64_t)p[1] << 8 | (uint64_t)p[2] << 16 | (uint64_t)p[3] << 24 |
		(uint64_t)p[4] << 32 | (uint64_t)p[5] << 40 | (uint64_t)p[6] << 48 | (uint64_t)p[7] << 56;
}

// Four words at a time, of which each has a chain of its own: a processor has
// them multiplied side by side. What came before is in one of them alone, so that
// the chains joined are one-to-one in it, and in each word.
static uint64_t addBytes(uint64_t h, const unsigned char *p, uint64_t n) {
	if (n >= 64) {
		uint64_t a = h, b = 1, c = 2, d = 3;
		for (; n >= 32; p += 32, n -= 32) {
			a = add(a, word(p));
			b = add(b, word(p + 8));
			c = add(c, word(p + 16));
			d = add(d, word(p + 24));
		}
		h = add(add(add(a, b), c), d);
	}
	for (; n >= 8; p += 8, n -= 8) h = add(h, word(p));
	if (n > 0) {
		unsigned char last[8] = {0};
		for (uint64_t i = 0; i < n; i++) last[i] = p[i];
		h = add(h, word(last));
	}
	return h;
}

static void sum(sqlite3_context *ctx, int n, sqlite3_value **values) {
	uint64_t h = UINT64_C(0x6a09e667f3bcc908) + (uint64_t)n;
	for (int i = 0; i < n; i++) {
		int type = sqlite3_value_type(values[i]);
		if (type == INTEGER) {
			h = add(add(h, INTEGER), (uint64_t)sqlite3_value_int64(values[i]));
			continue;
		}
		if (type == NIL) {
			h = add(h, NIL);
			continue;
		}
		// A REAL, which no column has, is summed as its text.
		const unsigned char *p = sqlite3_value_blob(values[i]);
		uint64_t size = p ? (uint64_t)sqlite3_value_bytes(values[i]) : 0;
		h = addBytes(add(h, (uint64_t)type | size << 8), p, size);
	}
	sqlite3_result_int64(ctx, (int64_t)end(h));
}

int engramdSums(uintptr_t db) {
	if (!sqlite3_create_function_v2) return 1;
	return sqlite3_create_function_v2((sqlite3 *)db, "engramd_sum", -1, UTF8 | DETERMINISTIC | DIRECTONLY, 0, sum, 0, 0, 0);
}
