/* Matching of given inputs to program inputs; see inputs.h. */
#include "inputs.h"

static uint32_t tensor_count(const struct plan *plan)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < plan->input_count; i++) {
        count += plan_input(plan, i) != NULL ? 1u : 0u;
    }
    return count;
}

int inputs_count_check(const struct plan *plan, uint32_t count, struct error *error)
{
    uint32_t tensors = tensor_count(plan);
    if (count != plan->input_count && count != tensors) {
        return error_set(error, STATUS_INPUT, "%u inputs given, the program has %u (%u of them tensors)", (unsigned)count,
                         (unsigned)plan->input_count, (unsigned)tensors);
    }
    return STATUS_OK;
}

int inputs_match(const struct plan *plan, uint32_t count, uint32_t given, uint32_t *index, struct error *error)
{
    if (inputs_count_check(plan, count, error) != STATUS_OK) {
        return error->code;
    }
    if (count == plan->input_count) {
        *index = given;
        return STATUS_OK;
    }
    uint32_t seen = 0;
    for (uint32_t i = 0; i < plan->input_count; i++) {
        if (plan_input(plan, i) != NULL && seen++ == given) {
            *index = i;
            return STATUS_OK;
        }
    }
    return error_set(error, STATUS_INPUT, "there is no tensor input %u", (unsigned)given);
}

uint32_t inputs_size(const struct plan *plan, uint32_t index)
{
    const struct tensor *tensor = plan_input(plan, index);
    return tensor != NULL ? tensor->nbytes : 8;
}

int inputs_check_scalar(const struct plan *plan, uint32_t index, const uint8_t *data, uint32_t size, struct error *error)
{
    const struct value *value = &plan->values[plan->inputs[index]];
    uint64_t given = size == 8 ? le64(data) : size == 4 ? le32(data) : size == 1 ? data[0] : 0;
    uint64_t wanted = (uint64_t)value->as.integer;
    uint32_t bytes = 8;
    switch (value->kind) {
    case VALUE_NULL: return STATUS_OK; /* nothing to say: whatever was written stands for None */
    case VALUE_INT: break;
    case VALUE_DOUBLE: __builtin_memcpy(&wanted, &value->as.number, sizeof wanted); break;
    case VALUE_BOOL:
        bytes = 1;
        given = given != 0;
        break;
    default: return STATUS_OK; /* lists and strings belong to the program */
    }
    if (size != bytes || given != wanted) {
        return error_set(error, STATUS_INPUT, "input %u (%s) is %016llx in %u bytes, the program was made for %016llx",
                         (unsigned)index, value_kind_name(value->kind), (unsigned long long)given, (unsigned)size,
                         (unsigned long long)wanted);
    }
    return STATUS_OK;
}
