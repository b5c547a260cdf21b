#ifndef ENGRAMD_STEPS_H
#define ENGRAMD_STEPS_H
#include <stdint.h>

// What is known of a watched connection.
typedef struct {
	uintptr_t handle;
	int every;         // steps between two calls of the handler
	int64_t most;      // steps between two calls of the function
	int64_t patience;  // nanoseconds after which it is called all the same
	int64_t steps;     // since its last call
	int64_t since;     // that was; 0 is not known yet
	int64_t at;        // marked last
} engramdWatched;

#endif
