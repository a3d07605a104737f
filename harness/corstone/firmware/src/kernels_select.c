/* gt.Tensor, lt.Tensor and where.self, with broadcasting. */
#include "kernels.h"

static double promoted(const struct scalar *value, const struct scalar *other)
{
    if (value->is_float) {
        return value->number;
    }
    return other->is_double ? double_of_int(value->integer) : (double)float_of_int(value->integer);
}

/* -1, 0, 1, or 2 when a NaN is involved. A float32 against an integer is compared in float32, as torch promotes. */
static int order(const struct scalar *a, const struct scalar *b)
{
    if (!a->is_float && !b->is_float) {
        return a->integer < b->integer ? -1 : a->integer > b->integer ? 1 : 0;
    }
    double left = promoted(a, b);
    double right = promoted(b, a);
    if (!(left == left) || !(right == right)) {
        return 2;
    }
    return left < right ? -1 : left > right ? 1 : 0;
}

static int compare(struct value **args, uint32_t count, int wanted, const char *kernel, struct error *error)
{
    struct tensor *a;
    struct tensor *b;
    struct tensor *out;
    if (!arg_count(count, 4, kernel, error) || !arg_tensor(args, 0, &a, kernel, error) ||
        !arg_tensor(args, 1, &b, kernel, error) || !arg_output(args, 2, &out, kernel, error)) {
        return error->code;
    }
    if (!scalar_supported(a->dtype) || !scalar_supported(b->dtype) || !scalar_supported(out->dtype)) {
        return error_set(error, STATUS_UNSUPPORTED, "%s of %s and %s", kernel, dtype_name(a->dtype), dtype_name(b->dtype));
    }
    struct walk walk;
    walk_start(&walk, out);
    if (!walk_add(&walk, a) || !walk_add(&walk, b) || !walk_add(&walk, out)) {
        return error_set(error, STATUS_PROGRAM, "%s: shapes do not broadcast to the output", kernel);
    }
    for (; walk.left > 0; walk_next(&walk)) {
        struct scalar left;
        struct scalar right;
        scalar_load(a, walk.offset[0], &left);
        scalar_load(b, walk.offset[1], &right);
        struct scalar result = {false, false, order(&left, &right) == wanted, 0.0};
        scalar_store(out, walk.offset[2], &result);
    }
    return STATUS_OK;
}

int kernel_gt(struct value **args, uint32_t count, struct error *error)
{
    return compare(args, count, 1, "gt.Tensor", error);
}

int kernel_lt(struct value **args, uint32_t count, struct error *error)
{
    return compare(args, count, -1, "lt.Tensor", error);
}

int kernel_where(struct value **args, uint32_t count, struct error *error)
{
    static const char kernel[] = "where.self";
    struct tensor *condition;
    struct tensor *a;
    struct tensor *b;
    struct tensor *out;
    if (!arg_count(count, 5, kernel, error) || !arg_tensor(args, 0, &condition, kernel, error) ||
        !arg_tensor(args, 1, &a, kernel, error) || !arg_tensor(args, 2, &b, kernel, error) ||
        !arg_output(args, 3, &out, kernel, error)) {
        return error->code;
    }
    uint32_t size = dtype_size(out->dtype);
    if ((condition->dtype != DT_BOOL && condition->dtype != DT_UINT8) || a->dtype != out->dtype || b->dtype != out->dtype) {
        return error_set(error, STATUS_UNSUPPORTED, "%s(%s, %s, %s) to %s", kernel, dtype_name(condition->dtype),
                         dtype_name(a->dtype), dtype_name(b->dtype), dtype_name(out->dtype));
    }
    struct walk walk;
    walk_start(&walk, out);
    if (!walk_add(&walk, condition) || !walk_add(&walk, a) || !walk_add(&walk, b) || !walk_add(&walk, out)) {
        return error_set(error, STATUS_PROGRAM, "%s: shapes do not broadcast to the output", kernel);
    }
    for (; walk.left > 0; walk_next(&walk)) {
        bool chosen = condition->data[walk.offset[0]] != 0;
        const uint8_t *from = chosen ? a->data + (size_t)walk.offset[1] * size : b->data + (size_t)walk.offset[2] * size;
        (void)copy_bytes(out->data + (size_t)walk.offset[3] * size, from, size);
    }
    return STATUS_OK;
}
