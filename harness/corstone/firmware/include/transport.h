/* How program, inputs and outputs travel: semihosting files, or memory that the simulator fills and dumps. */
#ifndef CORSTONE_TRANSPORT_H
#define CORSTONE_TRANSPORT_H

#include "args.h"
#include "inputs.h"

struct transport {
    /* The whole program; it stays readable until the next call. */
    int (*program)(const struct run_args *run, struct span *out, struct error *error);
    uint32_t (*input_count)(const struct run_args *run, const struct plan *plan);
    /* The given-th input into data, which has room for size bytes; its own length into got. */
    int (*input)(const struct run_args *run, uint32_t given, uint8_t *data, uint32_t size, uint32_t *got, struct error *error);
    int (*output)(const struct run_args *run, uint32_t index, const uint8_t *data, uint32_t size, struct error *error);
    /* Name of an output for its frame. */
    void (*output_name)(const struct run_args *run, uint32_t index, char *out, uint32_t size);
    /* After the last output of a run. */
    void (*finish)(const struct run_args *run, const struct plan *plan);
    /* Zeroes the memory of the last program. */
    void (*forget)(void);
};

extern const struct transport transport_files;
extern const struct transport transport_memory;

/* Whether a program lies where the memory transport looks. */
bool transport_memory_present(void);

#endif
