/* Runs the instructions of a loaded plan. */
#include "canary.h"

static int call_delegate(struct plan *plan, const struct instruction *step, delegate_runner run, void *context,
                         struct error *error)
{
    const struct vela *vela = &plan->delegates[step->a];
    if (step->arg_count != vela->input_count + vela->output_count) {
        return error_set(error, STATUS_PROGRAM, "delegate %u has %u inputs and %u outputs, its call has %u arguments",
                         (unsigned)step->a, (unsigned)vela->input_count, (unsigned)vela->output_count,
                         (unsigned)step->arg_count);
    }
    /* Inputs in, run, outputs out: the same checks both ways. */
    for (uint32_t pass = 0; pass < 2; pass++) {
        uint32_t count = pass == 0 ? vela->input_count : vela->output_count;
        for (uint32_t i = 0; i < count; i++) {
            uint32_t argument = pass == 0 ? i : vela->input_count + i;
            struct vela_io io;
            struct tensor *tensor;
            plan->arguments[0] = &plan->values[step->args[argument]];
            if (vela_io_at(vela, pass == 0 ? vela->inputs : vela->outputs, i, &io, error) != STATUS_OK) {
                return error->code;
            }
            bool fits = pass == 0 ? arg_tensor(plan->arguments, 0, &tensor, "delegate", error)
                                  : arg_output(plan->arguments, 0, &tensor, "delegate", error);
            if (!fits) {
                return error->code;
            }
            if (io.element_size != dtype_size(tensor->dtype)) {
                return error_set(error, STATUS_PROGRAM, "Element size mismatch: tensor %u, Vela %u (delegate %s %u)",
                                 (unsigned)dtype_size(tensor->dtype), (unsigned)io.element_size,
                                 pass == 0 ? "input" : "output", (unsigned)i);
            }
            if (io.elements != tensor->numel) {
                return error_set(error, STATUS_PROGRAM, "Program expects %u elements but got %u (delegate %s %u)",
                                 (unsigned)io.elements, (unsigned)tensor->numel, pass == 0 ? "input" : "output", (unsigned)i);
            }
            if (pass == 0) {
                (void)copy_bytes(plan->scratch + io.offset, tensor->data, tensor->nbytes);
            } else {
                (void)copy_bytes(tensor->data, plan->scratch + io.offset, tensor->nbytes);
            }
        }
        if (pass == 0) {
            canary_fill_scratch(plan, vela);
            if (run(context, vela, plan->scratch, error) != STATUS_OK ||
                canary_check_scratch(plan, vela, error) != STATUS_OK) {
                return error->code;
            }
        }
    }
    return STATUS_OK;
}

static int call_kernel(struct plan *plan, const struct instruction *step, struct error *error)
{
    for (uint32_t i = 0; i < step->arg_count; i++) {
        plan->arguments[i] = &plan->values[step->args[i]];
    }
    return plan->kernels[step->a]->run(plan->arguments, step->arg_count, error);
}

/* A condition is a Bool, or a bool tensor whose elements must all be true. */
static int condition_of(const struct value *value, bool *out, struct error *error)
{
    if (value->kind == VALUE_BOOL) {
        *out = value->as.integer != 0;
        return STATUS_OK;
    }
    if (value->kind != VALUE_TENSOR || value->as.tensor->dtype != DT_BOOL) {
        return error_set(error, STATUS_PROGRAM, "condition of a jump is %s", value_kind_name(value->kind));
    }
    *out = true;
    for (uint32_t i = 0; i < value->as.tensor->numel; i++) {
        *out = *out && value->as.tensor->data[i] != 0;
    }
    return STATUS_OK;
}

static int run_chain(struct plan *plan, const struct chain *chain, uint32_t *left, delegate_runner run, void *context,
                     struct error *error)
{
    uint32_t at = 0;
    while (at < chain->count) {
        if ((*left)-- == 0) {
            *left = 0;
            return error_set(error, STATUS_LIMIT, "more than %u instructions in one run", (unsigned)plan->step_limit);
        }
        const struct instruction *step = &chain->steps[at++];
        bool holds = false;
        canary_step(plan, step);
        switch (step->kind) {
        case STEP_KERNEL: (void)call_kernel(plan, step, error); break;
        case STEP_DELEGATE: (void)call_delegate(plan, step, run, context, error); break;
        case STEP_MOVE: plan->values[step->b] = plan->values[step->a]; break;
        case STEP_JUMP_FALSE:
            if (condition_of(&plan->values[step->a], &holds, error) == STATUS_OK && !holds) {
                at = step->b;
            }
            break;
        default: break; /* STEP_FREE: planned memory is never given back within a run */
        }
        if (error->code != STATUS_OK) {
            return error->code;
        }
    }
    return STATUS_OK;
}

int plan_execute(struct plan *plan, delegate_runner run, void *context, struct error *error)
{
    uint32_t left = plan->step_limit;
    for (uint32_t i = 0; i < plan->chain_count; i++) {
        if (run_chain(plan, &plan->chains[i], &left, run, context, error) != STATUS_OK) {
            return error->code;
        }
    }
    return STATUS_OK;
}
