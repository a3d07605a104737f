/* argmax: the place of the largest element along one dimension, or of all; the first of equal ones, NaN before any. */
#include "kernels.h"

/* Whether `value` takes the place of `best`, which came before it. */
static bool larger(const struct scalar *value, const struct scalar *best)
{
    if (!value->is_float) {
        return value->integer > best->integer;
    }
    bool best_is_number = best->number == best->number;
    return best_is_number && !(value->number <= best->number);
}

/* Steps through the elements of `in`, in logical order, along the dimensions from `first` up to `last`. */
struct span {
    const struct tensor *in;
    uint32_t first;
    uint32_t last;
    uint32_t index[TENSOR_MAX_RANK];
};

static uint32_t span_offset(const struct span *span)
{
    uint32_t offset = 0;
    for (uint32_t axis = span->first; axis < span->last; axis++) {
        offset += span->index[axis] * span->in->strides[axis];
    }
    return offset;
}

static uint32_t span_size(const struct span *span)
{
    uint32_t size = 1;
    for (uint32_t axis = span->first; axis < span->last; axis++) {
        size *= span->in->sizes[axis];
    }
    return size;
}

static void span_start(struct span *span, const struct tensor *in, uint32_t first, uint32_t last)
{
    span->in = in;
    span->first = first;
    span->last = last;
    for (uint32_t axis = 0; axis < TENSOR_MAX_RANK; axis++) {
        span->index[axis] = 0;
    }
}

static void span_next(struct span *span)
{
    for (uint32_t axis = span->last; axis-- > span->first;) {
        span->index[axis]++;
        if (span->index[axis] < span->in->sizes[axis]) {
            return;
        }
        span->index[axis] = 0;
    }
}

static int64_t place_of_largest(const struct tensor *in, uint32_t start, uint32_t first, uint32_t last)
{
    struct span along;
    span_start(&along, in, first, last);
    struct scalar best;
    scalar_load(in, start, &best);
    int64_t place = 0;
    uint32_t size = span_size(&along);
    for (uint32_t i = 0; i < size; i++, span_next(&along)) {
        struct scalar value;
        scalar_load(in, start + span_offset(&along), &value);
        if (larger(&value, &best)) {
            best = value;
            place = (int64_t)i;
        }
    }
    return place;
}

int kernel_argmax(struct value **args, uint32_t count, struct error *error)
{
    static const char kernel[] = "argmax";
    struct tensor *in;
    struct tensor *out;
    if (!arg_count(count, 5, kernel, error) || !arg_tensor(args, 0, &in, kernel, error) ||
        !arg_output(args, 3, &out, kernel, error)) {
        return error->code;
    }
    if (!scalar_supported(in->dtype) || out->dtype != DT_INT64) {
        return error_set(error, STATUS_UNSUPPORTED, "%s of %s to %s", kernel, dtype_name(in->dtype), dtype_name(out->dtype));
    }
    uint32_t first = 0;
    uint32_t last = in->rank;
    if (args[1]->kind != VALUE_NULL && in->rank > 0) {
        int64_t dim;
        if (!arg_int(args, 1, &dim, kernel, error)) {
            return error->code;
        }
        dim += dim < 0 ? in->rank : 0;
        if (dim < 0 || dim >= in->rank) {
            return error_set(error, STATUS_PROGRAM, "%s: there is no such dimension", kernel);
        }
        first = (uint32_t)dim;
        last = first + 1;
    }
    struct span before;
    struct span behind;
    span_start(&before, in, 0, first);
    span_start(&behind, in, last, in->rank);
    uint32_t outer = span_size(&before);
    uint32_t inner = span_size(&behind);
    /* An output with a dimension more or less (keepdim) has as many elements, and rows in the same order. */
    if (in->numel == 0 || out->numel != outer * inner) {
        return error_set(error, STATUS_PROGRAM, "%s: shapes do not fit", kernel);
    }
    struct walk walk;
    walk_start(&walk, out);
    (void)walk_add(&walk, out);
    for (uint32_t i = 0; i < outer; i++, span_next(&before)) {
        for (uint32_t j = 0; j < inner; j++, span_next(&behind), walk_next(&walk)) {
            uint32_t start = span_offset(&before) + span_offset(&behind);
            struct scalar place = {false, false, place_of_largest(in, start, first, last), 0.0};
            scalar_store(out, walk.offset[0], &place);
        }
    }
    return STATUS_OK;
}
