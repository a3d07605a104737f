/* Finds outputs that nobody wrote.
 *
 * Planners put outputs where inputs were, so a fill before the run is not enough: each output is filled just before the
 * step that writes it, and the NPU's part of scratch just before the NPU runs. What still holds its fill afterwards was
 * not written; an output whose step never ran was not either.
 */
#ifndef CORSTONE_CANARY_H
#define CORSTONE_CANARY_H

#include "plan.h"

int canary_start(struct plan *plan, uint32_t pattern, struct arena *arena, struct error *error);
/* Before and after the step: fills the program outputs among its results, and notes that they are being written. */
void canary_step(struct plan *plan, const struct instruction *step);
/* The NPU's outputs in scratch, where they do not share memory with its inputs. */
void canary_fill_scratch(const struct plan *plan, const struct vela *vela);
int canary_check_scratch(const struct plan *plan, const struct vela *vela, struct error *error);

/* Bytes of the output that still hold the pattern at their place. */
uint32_t canary_left(const struct plan *plan, const struct tensor *tensor);
/* STATUS_CANARY when the output was not written. */
int canary_check_output(const struct plan *plan, uint32_t index, struct error *error);
/* The fill itself, as it lies in an output: the pattern's bytes, little-endian, over and over. */
void canary_fill(const struct plan *plan, struct tensor *tensor);

#endif
