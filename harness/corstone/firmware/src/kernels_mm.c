/* mm: [m,k] times [k,n], float32. Sums run over k in order, from zero; product and sum are fused, as GCC makes of
 * ExecuTorch's portable kernel in Arm's runner image. */
#include "kernels.h"

static float at(const struct tensor *tensor, uint32_t row, uint32_t column)
{
    float value;
    size_t element = (size_t)row * tensor->strides[0] + (size_t)column * tensor->strides[1];
    __builtin_memcpy(&value, __builtin_assume_aligned(tensor->data + 4u * element, 4), sizeof value);
    return value;
}

int kernel_mm(struct value **args, uint32_t count, struct error *error)
{
    static const char kernel[] = "mm";
    struct tensor *a;
    struct tensor *b;
    struct tensor *out;
    if (!arg_count(count, 4, kernel, error) || !arg_tensor(args, 0, &a, kernel, error) ||
        !arg_tensor(args, 1, &b, kernel, error) || !arg_output(args, 2, &out, kernel, error)) {
        return error->code;
    }
    if (a->dtype != DT_FLOAT32 || b->dtype != DT_FLOAT32 || out->dtype != DT_FLOAT32) {
        return error_set(error, STATUS_UNSUPPORTED, "%s of %s and %s", kernel, dtype_name(a->dtype), dtype_name(b->dtype));
    }
    if (a->rank != 2 || b->rank != 2 || out->rank != 2 || a->sizes[1] != b->sizes[0] || out->sizes[0] != a->sizes[0] ||
        out->sizes[1] != b->sizes[1]) {
        return error_set(error, STATUS_PROGRAM, "%s: shapes do not fit", kernel);
    }
    for (uint32_t i = 0; i < out->sizes[0]; i++) {
        for (uint32_t j = 0; j < out->sizes[1]; j++) {
            float sum = 0.0f;
            for (uint32_t k = 0; k < a->sizes[1]; k++) {
                sum = __builtin_fmaf(at(a, i, k), at(b, k, j), sum);
            }
            size_t element = (size_t)i * out->strides[0] + (size_t)j * out->strides[1];
            __builtin_memcpy(out->data + 4u * element, &sum, sizeof sum);
        }
    }
    return STATUS_OK;
}
