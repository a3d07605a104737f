/* _to_dim_order_copy: a copy that may change the dtype and the order of dimensions in memory. */
#include "kernels.h"

int kernel_to_dim_order_copy(struct value **args, uint32_t count, struct error *error)
{
    static const char kernel[] = "_to_dim_order_copy";
    struct tensor *in;
    struct tensor *out;
    if (!arg_count(count, 5, kernel, error) || !arg_tensor(args, 0, &in, kernel, error) ||
        !arg_output(args, 3, &out, kernel, error)) {
        return error->code;
    }
    if (!tensor_same_sizes(in, out)) {
        return error_set(error, STATUS_PROGRAM, "%s: input and output differ in shape", kernel);
    }
    if (in->dtype == out->dtype && tensor_same_layout(in, out)) {
        (void)copy_bytes(out->data, in->data, in->nbytes);
        return STATUS_OK;
    }
    if (!scalar_supported(in->dtype) || !scalar_supported(out->dtype)) {
        return error_set(error, STATUS_UNSUPPORTED, "%s from %s to %s", kernel, dtype_name(in->dtype), dtype_name(out->dtype));
    }
    struct walk walk;
    walk_start(&walk, out);
    (void)walk_add(&walk, in);
    (void)walk_add(&walk, out);
    for (; walk.left > 0; walk_next(&walk)) {
        struct scalar value;
        scalar_load(in, walk.offset[0], &value);
        scalar_store(out, walk.offset[1], &value);
    }
    return STATUS_OK;
}
