/* A method of a .pte, loaded: values with their memory, operators resolved, instructions decoded.
 *
 * All memory comes from one arena. Planned tensors lie in the buffers of non_const_buffer_sizes, constants stay in the
 * file (copied only when the file misaligns them). Leaves out dynamic shapes without a bound and external data.
 */
#ifndef CORSTONE_PLAN_H
#define CORSTONE_PLAN_H

#include "kernels.h"
#include "vela.h"

enum instruction_kind { STEP_KERNEL = 1, STEP_DELEGATE, STEP_MOVE, STEP_JUMP_FALSE, STEP_FREE };

struct instruction {
    uint8_t kind;
    uint32_t a; /* operator, delegate, move source, jump condition, or value to free */
    uint32_t b; /* move destination, or jump target within its chain */
    uint32_t *args;
    uint32_t arg_count;
};

struct chain {
    struct instruction *steps;
    uint32_t count;
};

/* What became of a program output; see canary.h. */
enum output_state { OUTPUT_GIVEN, OUTPUT_EXPECTED, OUTPUT_WRITTEN };

struct plan {
    struct pte pte;
    char name[32];
    struct value *values;
    uint32_t value_count;
    uint32_t *inputs;
    uint32_t input_count;
    uint32_t *outputs;
    uint32_t output_count;
    struct span *buffers; /* planned memory, index = memory id; entry 0 unused */
    uint32_t buffer_count;
    const struct kernel **kernels;
    uint32_t kernel_count;
    struct vela *delegates;
    uint32_t delegate_count;
    struct chain *chains;
    uint32_t chain_count;
    uint8_t *scratch;
    uint32_t scratch_size;
    uint32_t step_limit; /* instructions one run may execute */
    struct value **arguments; /* room for the longest argument list */
    uint32_t argument_room;
    uint32_t canary;
    uint8_t *output_state; /* one an output; NULL: no canaries */
};

int plan_load(struct plan *plan, const uint8_t *file, uint32_t size, struct arena *arena, struct error *error);

/* Copies one delegate's inputs to scratch, runs it, copies outputs back. */
typedef int (*delegate_runner)(void *context, const struct vela *vela, uint8_t *scratch, struct error *error);

int plan_execute(struct plan *plan, delegate_runner run, void *context, struct error *error);

/* Only tensors hold data that a caller may set; NULL for any other input or output. */
struct tensor *plan_input(const struct plan *plan, uint32_t index);
struct tensor *plan_output(const struct plan *plan, uint32_t index);

#endif
