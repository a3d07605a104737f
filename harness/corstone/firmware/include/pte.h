/* ExecuTorch's .pte: the parts of schema/program.fbs (identifier ET12) and of the extended header that a runner needs.
 *
 * Every offset, index and size is checked before it is used; a file that contradicts itself ends in STATUS_PROGRAM with
 * the reason. Leaves out external tensor data and named data, which are refused by name.
 */
#ifndef CORSTONE_PTE_H
#define CORSTONE_PTE_H

#include "flatbuffer.h"
#include "tensor.h"

struct pte {
    struct fb fb;
    const uint8_t *file;
    uint32_t file_size;
    uint32_t segment_base;
    struct fb_table program;
    struct fb_table method;
};

/* A piece of the file. */
struct span {
    const uint8_t *data;
    uint32_t size;
};

/* size is the room that may be read; the file itself says how much of it is used (total_size, when it has a header). */
int pte_open(struct pte *pte, const uint8_t *file, uint32_t size, struct error *error);
/* Bytes of the file including its segments; 0 when it has no extended header and so does not say. */
uint32_t pte_total_size(const uint8_t *file, uint32_t size);

/* The constant with that index, at least size bytes long. */
int pte_constant(struct pte *pte, uint32_t index, uint32_t size, struct span *out, struct error *error);
/* The initial state of a planned tensor: entry `index` of mutable_data_segments[segments]. */
int pte_initial(struct pte *pte, uint64_t segments, uint32_t index, uint32_t size, struct span *out, struct error *error);
/* The processed bytes of a delegate. */
int pte_delegate(struct pte *pte, const struct fb_table *delegate, struct span *out, struct error *error);
/* STATUS_PROGRAM with the flatbuffer's offset when it went bad; else STATUS_OK. */
int pte_check(struct pte *pte, const char *where, struct error *error);

enum pte_program { PROGRAM_PLANS = 1, PROGRAM_CONSTANTS, PROGRAM_DELEGATE_DATA, PROGRAM_SEGMENTS,
                   PROGRAM_CONSTANT_SEGMENT, PROGRAM_MUTABLE_SEGMENTS };
enum pte_plan { PLAN_NAME = 0, PLAN_VALUES = 2, PLAN_INPUTS, PLAN_OUTPUTS, PLAN_CHAINS, PLAN_OPERATORS, PLAN_DELEGATES,
                PLAN_BUFFER_SIZES };
enum pte_tensor { TENSOR_DTYPE = 0, TENSOR_OFFSET, TENSOR_SIZES, TENSOR_DIM_ORDER, TENSOR_BUFFER = 5, TENSOR_ALLOCATION,
                  TENSOR_DYNAMISM = 8, TENSOR_EXTRA };

#endif
