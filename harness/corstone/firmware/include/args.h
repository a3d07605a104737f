/* The command line: `executor_runner -m program.pte -i i0.bin -o out [options]`, or `executor_runner [options] @file`.
 *
 * An @file holds the same options, over as many lines as one likes; every -m begins another run. A line that begins with
 * '#' is a comment, "double quotes" keep blanks together. The FVP cuts its command line at 256 characters, so longer ones
 * and many runs a boot travel that way.
 */
#ifndef CORSTONE_ARGS_H
#define CORSTONE_ARGS_H

#include "base.h"

enum { ARGS_INPUTS = 256 };

struct run_args {
    const char *program;
    const char *inputs[ARGS_INPUTS];
    uint32_t input_count;
    const char *output;
};

struct options {
    const char *list_file;
    const char *inject;
    const char *console; /* "uart", "semihosting", or NULL: the board's choice */
    uint32_t canary;
    uint32_t npu_timeout_ms; /* 0: the driver's own */
    bool quiet;
    bool memory; /* the memory transport, though there is a command line */
};

/* Splits one run's text in place. `first` words are skipped (argv[0]). */
int args_parse(char *text, uint32_t first, struct run_args *run, struct options *options, struct error *error);
/* Prepares an @file's text; then the text of each run in turn, cut in place; NULL at the end. */
void args_start_list(char *text);
char *args_next_run(char **cursor);

#endif
