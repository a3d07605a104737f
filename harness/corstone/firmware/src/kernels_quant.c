/* quantize_per_tensor and dequantize_per_tensor.
 *
 * Arithmetic of torch/ao/quantization/fx/_decomposed.py, on tensors of float32:
 *   quantize:   clamp(round(x * float(1.0 / scale)) + zero_point, qmin, qmax), each step in float32;
 *   dequantize: (float(q) - zero_point) * float(scale).
 * ExecuTorch's own kernel divides 1.0f by float(scale) instead; torch's form is the reference that programs are judged by.
 */
#include "kernels.h"

static bool quantized_dtype(uint32_t dtype)
{
    return dtype == DT_UINT8 || dtype == DT_INT8 || dtype == DT_INT16 || dtype == DT_INT32;
}

/* Reads (tensor, scale, zero_point, qmin, qmax, dtype), common to both. */
struct qargs {
    struct tensor *in;
    struct tensor *out;
    double scale;
    int64_t zero_point;
    int64_t qmin;
    int64_t qmax;
    int64_t dtype;
};

static bool read_args(struct value **args, uint32_t out, struct qargs *q, const char *kernel, struct error *error)
{
    return arg_tensor(args, 0, &q->in, kernel, error) && arg_double(args, 1, &q->scale, kernel, error) &&
           arg_int(args, 2, &q->zero_point, kernel, error) && arg_int(args, 3, &q->qmin, kernel, error) &&
           arg_int(args, 4, &q->qmax, kernel, error) && arg_int(args, 5, &q->dtype, kernel, error) &&
           arg_output(args, out, &q->out, kernel, error);
}

static int check(const struct qargs *q, const struct tensor *codes, const struct tensor *reals, const char *kernel,
                 struct error *error)
{
    if (!quantized_dtype(codes->dtype) || reals->dtype != DT_FLOAT32) {
        return error_set(error, STATUS_UNSUPPORTED, "%s from %s to %s", kernel, dtype_name(q->in->dtype),
                         dtype_name(q->out->dtype));
    }
    if (q->dtype != codes->dtype || !tensor_same_layout(q->in, q->out)) {
        return error_set(error, STATUS_PROGRAM, "%s: dtype or shape of input and output do not fit", kernel);
    }
    return STATUS_OK;
}

/* Tensor data is aligned to its element: plan.c sees to it. */
#define ALIGNED(pointer, size) __builtin_assume_aligned((pointer), (size))

static void store_code(uint8_t *codes, uint32_t dtype, uint32_t i, float value)
{
    int32_t code = saturate_i32(value);
    switch (dtype) {
    case DT_INT16: {
        int16_t narrow = (int16_t)code;
        __builtin_memcpy(ALIGNED(codes + 2u * (size_t)i, 2), &narrow, sizeof narrow);
        break;
    }
    case DT_INT32: __builtin_memcpy(ALIGNED(codes + 4u * (size_t)i, 4), &code, sizeof code); break;
    default: codes[i] = (uint8_t)code; break;
    }
}

static float load_code(const uint8_t *codes, uint32_t dtype, uint32_t i)
{
    switch (dtype) {
    case DT_INT16: {
        int16_t code;
        __builtin_memcpy(&code, ALIGNED(codes + 2u * (size_t)i, 2), sizeof code);
        return (float)code;
    }
    case DT_INT32: {
        int32_t code;
        __builtin_memcpy(&code, ALIGNED(codes + 4u * (size_t)i, 4), sizeof code);
        return (float)code;
    }
    case DT_INT8: return (float)(int8_t)codes[i];
    default: return (float)codes[i];
    }
}

int kernel_quantize(struct value **args, uint32_t count, struct error *error)
{
    static const char kernel[] = "quantize_per_tensor";
    struct qargs q;
    if (!arg_count(count, 8, kernel, error) || !read_args(args, 6, &q, kernel, error) ||
        check(&q, q.out, q.in, kernel, error) != STATUS_OK) {
        return error->code;
    }
    const float inverse = (float)(1.0 / q.scale);
    const float zero_point = float_of_int(q.zero_point);
    const float low = float_of_int(q.qmin);
    const float high = float_of_int(q.qmax);
    for (uint32_t i = 0; i < q.in->numel; i++) {
        float x;
        __builtin_memcpy(&x, ALIGNED(q.in->data + 4u * (size_t)i, 4), sizeof x);
        float scaled = x * inverse;
        float code = round_half_even(scaled) + zero_point;
        code = code < low ? low : code;
        code = code > high ? high : code;
        store_code(q.out->data, q.out->dtype, i, code);
    }
    return STATUS_OK;
}

int kernel_dequantize(struct value **args, uint32_t count, struct error *error)
{
    static const char kernel[] = "dequantize_per_tensor";
    struct qargs q;
    if (!arg_count(count, 9, kernel, error) || !read_args(args, 7, &q, kernel, error) ||
        check(&q, q.in, q.out, kernel, error) != STATUS_OK) {
        return error->code;
    }
    const float scale = (float)q.scale;
    const float zero_point = float_of_int(q.zero_point);
    for (uint32_t i = 0; i < q.in->numel; i++) {
        float centred = load_code(q.in->data, q.in->dtype, i) - zero_point;
        float x = centred * scale;
        __builtin_memcpy(ALIGNED(q.out->data + 4u * (size_t)i, 4), &x, sizeof x);
    }
    return STATUS_OK;
}
