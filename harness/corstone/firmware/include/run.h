/* One run: load a program, give it its inputs, execute it, hand its outputs out. */
#ifndef CORSTONE_RUN_H
#define CORSTONE_RUN_H

#include "transport.h"

/* Prints the run's frames; the code is also the return value. */
int run_program(uint32_t number, const struct run_args *run, const struct transport *transport, struct arena *arena,
                uint32_t canary);

#endif
