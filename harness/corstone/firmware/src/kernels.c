/* The table of operators, argument access, and conversions between dtypes. */
#include "kernels.h"

#include "flatbuffer.h"

static const struct kernel table[] = {
    {"quantized_decomposed::quantize_per_tensor.out", kernel_quantize},
    {"quantized_decomposed::dequantize_per_tensor.out", kernel_dequantize},
#ifndef RUNNER_ONLY_QUANTIZED
    {"dim_order_ops::_to_dim_order_copy.out", kernel_to_dim_order_copy},
    {"aten::gt.Tensor_out", kernel_gt},
    {"aten::lt.Tensor_out", kernel_lt},
    {"aten::where.self_out", kernel_where},
    {"aten::mm.out", kernel_mm},
    {"aten::argmax.out", kernel_argmax},
#endif
};

const struct kernel *kernel_at(uint32_t index)
{
    return index < ARRAY_SIZE(table) ? &table[index] : NULL;
}

bool arg_count(uint32_t count, uint32_t wanted, const char *kernel, struct error *error)
{
    if (count != wanted) {
        (void)error_set(error, STATUS_PROGRAM, "%s got %u arguments, expected %u", kernel, (unsigned)count, (unsigned)wanted);
        return false;
    }
    return true;
}

static bool arg_kind(struct value **args, uint32_t index, uint32_t kind, const char *kernel, struct error *error)
{
    if (args[index]->kind != kind) {
        (void)error_set(error, STATUS_PROGRAM, "%s: argument %u is %s, expected %s", kernel, (unsigned)index,
                        value_kind_name(args[index]->kind), value_kind_name(kind));
        return false;
    }
    return true;
}

bool arg_tensor(struct value **args, uint32_t index, struct tensor **out, const char *kernel, struct error *error)
{
    if (!arg_kind(args, index, VALUE_TENSOR, kernel, error)) {
        return false;
    }
    *out = args[index]->as.tensor;
    return true;
}

bool arg_output(struct value **args, uint32_t index, struct tensor **out, const char *kernel, struct error *error)
{
    if (!arg_tensor(args, index, out, kernel, error)) {
        return false;
    }
    if ((*out)->constant) {
        (void)error_set(error, STATUS_PROGRAM, "%s: argument %u is a constant and would be written", kernel, (unsigned)index);
        return false;
    }
    return true;
}

bool arg_int(struct value **args, uint32_t index, int64_t *out, const char *kernel, struct error *error)
{
    if (!arg_kind(args, index, VALUE_INT, kernel, error)) {
        return false;
    }
    *out = args[index]->as.integer;
    return true;
}

bool arg_double(struct value **args, uint32_t index, double *out, const char *kernel, struct error *error)
{
    if (!arg_kind(args, index, VALUE_DOUBLE, kernel, error)) {
        return false;
    }
    *out = args[index]->as.number;
    return true;
}

float round_half_even(float value)
{
    /* Adding 2^23 leaves no bits below 1, and the addition itself rounds to even. The build forbids contraction and
     * reassociation, so no compiler may fold this away. */
    const float shift = 8388608.0f;
    float magnitude = value < 0.0f ? -value : value;
    if (!(magnitude < shift)) {
        return value; /* already whole, infinite, or NaN */
    }
    float rounded = magnitude + shift;
    float whole = rounded - shift;
    return value < 0.0f ? -whole : whole;
}

int32_t saturate_i32(float value)
{
    if (!(value == value)) {
        return 0;
    }
    if (value >= 2147483648.0f) {
        return INT32_MAX;
    }
    return value <= -2147483648.0f ? INT32_MIN : (int32_t)value;
}

int64_t saturate_i64(double value)
{
    if (!(value == value)) {
        return 0;
    }
    if (value >= 9223372036854775808.0) {
        return INT64_MAX;
    }
    if (value <= -9223372036854775808.0) {
        return INT64_MIN;
    }
    /* In two halves of 32 bits: a direct conversion would need a compiler library on the device. */
    double magnitude = value < 0 ? -value : value;
    uint32_t high = (uint32_t)(magnitude / 4294967296.0);
    uint32_t low = (uint32_t)(magnitude - (double)high * 4294967296.0);
    uint64_t whole = (uint64_t)high << 32 | low;
    return value < 0 ? (int64_t)(0u - whole) : (int64_t)whole;
}

bool scalar_supported(uint32_t dtype)
{
    return dtype == DT_UINT8 || dtype == DT_INT8 || dtype == DT_INT16 || dtype == DT_INT32 || dtype == DT_INT64 ||
           dtype == DT_FLOAT32 || dtype == DT_FLOAT64 || dtype == DT_BOOL;
}

void scalar_load(const struct tensor *tensor, uint32_t element, struct scalar *out)
{
    const uint8_t *at = tensor->data + (size_t)element * dtype_size(tensor->dtype);
    out->is_float = tensor->dtype == DT_FLOAT32 || tensor->dtype == DT_FLOAT64;
    out->is_double = tensor->dtype == DT_FLOAT64;
    out->integer = 0;
    out->number = 0.0;
    switch (tensor->dtype) {
    case DT_UINT8: out->integer = *at; break;
    case DT_BOOL: out->integer = *at != 0; break;
    case DT_INT8: out->integer = (int8_t)*at; break;
    case DT_INT16: out->integer = (int16_t)(uint16_t)le16(at); break;
    case DT_INT32: out->integer = (int32_t)le32(at); break;
    case DT_INT64: out->integer = (int64_t)le64(at); break;
    case DT_FLOAT32: {
        float value;
        __builtin_memcpy(&value, at, sizeof value);
        out->number = (double)value;
        break;
    }
    case DT_FLOAT64: __builtin_memcpy(&out->number, at, sizeof out->number); break;
    default: break;
    }
}

float float_of_int(int64_t value)
{
    uint64_t magnitude = value < 0 ? 0u - (uint64_t)value : (uint64_t)value;
    uint32_t high = (uint32_t)(magnitude >> 32);
    uint32_t low = (uint32_t)magnitude;
    float result;
    if (high == 0) {
        result = (float)low;
    } else {
        /* Keep 32 leading bits and make the last one sticky: enough for a correct rounding to 24. */
        uint32_t shift = 32u - (uint32_t)__builtin_clz(high);
        uint32_t top = (uint32_t)(magnitude >> shift);
        uint64_t lost = magnitude & (((uint64_t)1 << shift) - 1u);
        top |= lost != 0 ? 1u : 0u;
        result = (float)top;
        for (uint32_t i = 0; i < shift; i++) {
            result *= 2.0f;
        }
    }
    return value < 0 ? -result : result;
}

double double_of_int(int64_t value)
{
    uint64_t magnitude = value < 0 ? 0u - (uint64_t)value : (uint64_t)value;
    double result = (double)(uint32_t)(magnitude >> 32) * 4294967296.0 + (double)(uint32_t)magnitude;
    return value < 0 ? -result : result;
}

static void store_float(const struct tensor *tensor, uint8_t *at, const struct scalar *value)
{
    if (tensor->dtype == DT_FLOAT32) {
        float number = value->is_float ? (float)value->number : float_of_int(value->integer);
        __builtin_memcpy(at, &number, sizeof number);
    } else {
        double number = value->is_float ? value->number : double_of_int(value->integer);
        __builtin_memcpy(at, &number, sizeof number);
    }
}

void scalar_store(const struct tensor *tensor, uint32_t element, const struct scalar *value)
{
    uint32_t size = dtype_size(tensor->dtype);
    uint8_t *at = tensor->data + (size_t)element * size;
    if (tensor->dtype == DT_FLOAT32 || tensor->dtype == DT_FLOAT64) {
        store_float(tensor, at, value);
        return;
    }
    if (tensor->dtype == DT_BOOL) {
        *at = value->is_float ? value->number != 0.0 : value->integer != 0;
        return;
    }
    int64_t integer = value->integer;
    if (value->is_float) {
        /* To 32 bits first for the narrow dtypes, then the low bits, as compiled C does on Arm. */
        int64_t wide = saturate_i64(value->number);
        int64_t clamped = wide > INT32_MAX ? INT32_MAX : wide < INT32_MIN ? INT32_MIN : wide;
        integer = size == 8 ? wide : clamped;
    }
    for (uint32_t i = 0; i < size; i++) {
        at[i] = (uint8_t)((uint64_t)integer >> (8u * i));
    }
}
