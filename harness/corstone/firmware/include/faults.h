/* Every exception that is not one of ours ends here: decoded registers on the console, a frame, and exit with a code. */
#ifndef CORSTONE_FAULTS_H
#define CORSTONE_FAULTS_H

#include "base.h"

typedef void (*vector_entry)(void);
extern const vector_entry __vectors[];

void fault_entry(void);

/* Ends the boot: frame, then whatever stops a simulator. */
__attribute__((noreturn)) void stop_with(int code);
/* Whether EOT goes to the UART before the semihosting exit; without semihosting it always does. */
void stop_with_eot(bool eot);
/* An assertion of the runner itself. */
__attribute__((noreturn)) void stop_abort(const char *file, uint32_t line, const char *what);

/* How many runs were started and how many ended well, for the last frame. */
void stop_count(uint32_t runs, uint32_t ok);

#endif
