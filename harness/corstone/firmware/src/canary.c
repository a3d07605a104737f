/* Finds outputs that nobody wrote; see canary.h. */
#include "canary.h"

/* Fewer bytes than this may hold the pattern by chance: they are counted and not judged. */
enum { JUDGED_BYTES = 8 };

static uint8_t pattern_byte(uint32_t pattern, uint32_t i)
{
    return (uint8_t)(pattern >> (8u * (i & 3u)));
}

/* Scratch gets a fill that no constant tensor equals. */
static uint8_t scratch_byte(uint32_t pattern, uint32_t i)
{
    return (uint8_t)(pattern_byte(pattern, i) ^ (i * 29u + (i >> 8) + 7u));
}

static bool overlap(const uint8_t *a, uint32_t a_size, const uint8_t *b, uint32_t b_size)
{
    return (uintptr_t)a < (uintptr_t)b + b_size && (uintptr_t)b < (uintptr_t)a + a_size;
}

static bool overlaps_tensor(const struct tensor *output, const struct value *value)
{
    return value->kind == VALUE_TENSOR && overlap(output->data, output->nbytes, value->as.tensor->data, value->as.tensor->nbytes);
}

/* First argument of the step that is a result: the last one of a kernel, those after the inputs of a delegate. */
static uint32_t first_result(const struct plan *plan, const struct instruction *step)
{
    if (step->kind == STEP_KERNEL) {
        return step->arg_count == 0 ? 0 : step->arg_count - 1u;
    }
    return step->kind == STEP_DELEGATE ? plan->delegates[step->a].input_count : step->arg_count;
}

static bool writes(const struct plan *plan, const struct instruction *step, uint32_t value)
{
    for (uint32_t i = first_result(plan, step); i < step->arg_count; i++) {
        if (step->args[i] == value) {
            return true;
        }
    }
    return false;
}

void canary_fill(const struct plan *plan, struct tensor *tensor)
{
    for (uint32_t i = 0; i < tensor->nbytes; i++) {
        tensor->data[i] = pattern_byte(plan->canary, i);
    }
}

/* An output no step writes can only be an input, a constant, or forgotten. */
static bool has_writer(const struct plan *plan, uint32_t value)
{
    for (uint32_t i = 0; i < plan->chain_count; i++) {
        for (uint32_t k = 0; k < plan->chains[i].count; k++) {
            const struct instruction *step = &plan->chains[i].steps[k];
            if (writes(plan, step, value) || (step->kind == STEP_MOVE && step->b == value)) {
                return true;
            }
        }
    }
    return false;
}

int canary_start(struct plan *plan, uint32_t pattern, struct arena *arena, struct error *error)
{
    plan->canary = pattern;
    plan->output_state = arena_take(arena, plan->output_count + 1u, 1);
    if (plan->output_state == NULL) {
        return error_set(error, STATUS_POOL, "Memory allocation failed: %u bytes for output states",
                         (unsigned)plan->output_count);
    }
    for (uint32_t i = 0; i < plan->output_count; i++) {
        struct tensor *tensor = plan_output(plan, i);
        bool expected = has_writer(plan, plan->outputs[i]);
        plan->output_state[i] = expected ? OUTPUT_EXPECTED : OUTPUT_GIVEN;
        bool fill = tensor != NULL && !tensor->constant && !expected;
        for (uint32_t k = 0; fill && k < plan->input_count; k++) {
            fill = !overlaps_tensor(tensor, &plan->values[plan->inputs[k]]);
        }
        if (fill) {
            canary_fill(plan, tensor);
        }
    }
    return STATUS_OK;
}

void canary_step(struct plan *plan, const struct instruction *step)
{
    for (uint32_t i = 0; plan->output_state != NULL && i < plan->output_count; i++) {
        if (step->kind == STEP_MOVE && step->b == plan->outputs[i]) {
            plan->output_state[i] = OUTPUT_WRITTEN;
        }
        if (!writes(plan, step, plan->outputs[i])) {
            continue;
        }
        plan->output_state[i] = OUTPUT_WRITTEN;
        struct tensor *tensor = plan_output(plan, i);
        bool fill = tensor != NULL && !tensor->constant;
        for (uint32_t k = 0; fill && k < first_result(plan, step); k++) {
            /* Kernels name their result twice. */
            fill = step->args[k] == plan->outputs[i] ? step->kind == STEP_KERNEL && k + 2u == step->arg_count
                                                     : !overlaps_tensor(tensor, &plan->values[step->args[k]]);
        }
        if (fill) {
            canary_fill(plan, tensor);
        }
    }
}

/* The output's place in scratch; false when it shares memory with an input, which holds data then. */
static bool scratch_output(const struct vela *vela, uint32_t index, struct vela_io *io)
{
    struct error ignored = {0};
    if (vela_io_at(vela, vela->outputs, index, io, &ignored) != STATUS_OK) {
        return false;
    }
    for (uint32_t i = 0; i < vela->input_count; i++) {
        struct vela_io input;
        if (vela_io_at(vela, vela->inputs, i, &input, &ignored) != STATUS_OK ||
            (input.offset < io->offset + io->elements * io->element_size &&
             io->offset < input.offset + input.elements * input.element_size)) {
            return false;
        }
    }
    return true;
}

void canary_fill_scratch(const struct plan *plan, const struct vela *vela)
{
    for (uint32_t i = 0; plan->output_state != NULL && i < vela->output_count; i++) {
        struct vela_io io;
        if (scratch_output(vela, i, &io)) {
            for (uint32_t k = 0; k < io.elements * io.element_size; k++) {
                plan->scratch[io.offset + k] = scratch_byte(plan->canary, k);
            }
        }
    }
}

int canary_check_scratch(const struct plan *plan, const struct vela *vela, struct error *error)
{
    for (uint32_t i = 0; plan->output_state != NULL && i < vela->output_count; i++) {
        struct vela_io io;
        uint32_t k = 0;
        if (!scratch_output(vela, i, &io)) {
            continue;
        }
        uint32_t size = io.elements * io.element_size;
        while (k < size && plan->scratch[io.offset + k] == scratch_byte(plan->canary, k)) {
            k++;
        }
        if (k == size && size >= JUDGED_BYTES) {
            return error_set(error, STATUS_CANARY, "the NPU wrote none of the %u bytes of delegate output %u (scratch + %u)",
                             (unsigned)size, (unsigned)i, (unsigned)io.offset);
        }
    }
    return STATUS_OK;
}

uint32_t canary_left(const struct plan *plan, const struct tensor *tensor)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < tensor->nbytes; i++) {
        count += tensor->data[i] == pattern_byte(plan->canary, i) ? 1u : 0u;
    }
    return count;
}

int canary_check_output(const struct plan *plan, uint32_t index, struct error *error)
{
    const struct tensor *tensor = plan_output(plan, index);
    if (plan->output_state[index] == OUTPUT_EXPECTED) {
        return error_set(error, STATUS_CANARY, "output %u was not written: the step that makes it did not run",
                         (unsigned)index);
    }
    if (tensor != NULL && tensor->nbytes >= JUDGED_BYTES && canary_left(plan, tensor) == tensor->nbytes) {
        return error_set(error, STATUS_CANARY, "output %u was not written: all %u bytes still hold the canary",
                         (unsigned)index, (unsigned)tensor->nbytes);
    }
    return STATUS_OK;
}
