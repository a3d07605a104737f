/* Gives a loaded plan its inputs: tensors get bytes, other kinds are compared with what the program was made for.
 *
 * ExecuTorch keeps Python numbers among a program's inputs as values of the plan. Callers may pass one item per
 * program input (ExecuTorch's tests do) or one per tensor.
 */
#ifndef CORSTONE_INPUTS_H
#define CORSTONE_INPUTS_H

#include "plan.h"

/* Which program input the given-th of `count` items is; STATUS_INPUT when the count fits neither way. */
int inputs_match(const struct plan *plan, uint32_t count, uint32_t given, uint32_t *index, struct error *error);
int inputs_count_check(const struct plan *plan, uint32_t count, struct error *error);
/* Bytes a tensor input needs; the largest a scalar may have otherwise. */
uint32_t inputs_size(const struct plan *plan, uint32_t index);
/* Takes bytes for an input that is no tensor: equal to the plan's value, or STATUS_INPUT. */
int inputs_check_scalar(const struct plan *plan, uint32_t index, const uint8_t *data, uint32_t size, struct error *error);

#endif
