/* dtypes, shapes and the broadcasting walk. */
#include "tensor.h"

uint32_t dtype_size(uint32_t dtype)
{
    switch (dtype) {
    case DT_UINT8:
    case DT_INT8:
    case DT_BOOL: return 1;
    case DT_INT16:
    case DT_UINT16:
    case DT_FLOAT16:
    case DT_BFLOAT16: return 2;
    case DT_INT32:
    case DT_UINT32:
    case DT_FLOAT32: return 4;
    case DT_INT64:
    case DT_UINT64:
    case DT_FLOAT64: return 8;
    default: return 0;
    }
}

const char *dtype_name(uint32_t dtype)
{
    switch (dtype) {
    case DT_UINT8: return "uint8";
    case DT_INT8: return "int8";
    case DT_INT16: return "int16";
    case DT_INT32: return "int32";
    case DT_INT64: return "int64";
    case DT_FLOAT16: return "float16";
    case DT_FLOAT32: return "float32";
    case DT_FLOAT64: return "float64";
    case DT_BOOL: return "bool";
    case DT_BFLOAT16: return "bfloat16";
    case DT_UINT16: return "uint16";
    case DT_UINT32: return "uint32";
    case DT_UINT64: return "uint64";
    default: return "unknown";
    }
}

const char *value_kind_name(uint32_t kind)
{
    static const char *const names[] = {"None",   "Null",    "Int",        "Bool",     "Double",     "Tensor",
                                        "String", "IntList", "DoubleList", "BoolList", "TensorList", "OptionalTensorList"};
    return kind < ARRAY_SIZE(names) ? names[kind] : "unknown";
}

bool tensor_same_sizes(const struct tensor *a, const struct tensor *b)
{
    if (a->rank != b->rank) {
        return false;
    }
    for (uint32_t i = 0; i < a->rank; i++) {
        if (a->sizes[i] != b->sizes[i]) {
            return false;
        }
    }
    return true;
}

bool tensor_same_layout(const struct tensor *a, const struct tensor *b)
{
    if (!tensor_same_sizes(a, b)) {
        return false;
    }
    for (uint32_t i = 0; i < a->rank; i++) {
        if (a->dim_order[i] != b->dim_order[i]) {
            return false;
        }
    }
    return true;
}

void tensor_shape_text(const struct tensor *tensor, char *out, uint32_t size)
{
    uint32_t used = format_text(out, size, "[");
    for (uint32_t i = 0; i < tensor->rank; i++) {
        used += format_text(out + used, size - used, i == 0 ? "%u" : ",%u", (unsigned)tensor->sizes[i]);
    }
    (void)format_text(out + used, size - used, "]");
}

void walk_start(struct walk *walk, const struct tensor *shape)
{
    walk->shape = shape;
    walk->operands = 0;
    walk->left = shape->numel;
    for (uint32_t i = 0; i < TENSOR_MAX_RANK; i++) {
        walk->index[i] = 0;
    }
}

bool walk_add(struct walk *walk, const struct tensor *operand)
{
    uint32_t rank = walk->shape->rank;
    if (operand->rank > rank || walk->operands >= ARRAY_SIZE(walk->offset)) {
        return false;
    }
    uint32_t *strides = walk->strides[walk->operands];
    uint32_t missing = rank - operand->rank;
    for (uint32_t i = 0; i < rank; i++) {
        if (i < missing || (operand->sizes[i - missing] == 1u && walk->shape->sizes[i] != 1u)) {
            strides[i] = 0;
        } else if (operand->sizes[i - missing] == walk->shape->sizes[i]) {
            strides[i] = operand->strides[i - missing];
        } else {
            return false;
        }
    }
    walk->offset[walk->operands++] = 0;
    return true;
}

void walk_next(struct walk *walk)
{
    walk->left--;
    for (uint32_t i = walk->shape->rank; i-- > 0;) {
        walk->index[i]++;
        if (walk->index[i] < walk->shape->sizes[i]) {
            for (uint32_t k = 0; k < walk->operands; k++) {
                walk->offset[k] += walk->strides[k][i];
            }
            return;
        }
        /* Back to the start of this dimension; unsigned arithmetic wraps as intended. */
        walk->index[i] = 0;
        for (uint32_t k = 0; k < walk->operands; k++) {
            walk->offset[k] -= walk->strides[k][i] * (walk->shape->sizes[i] - 1u);
        }
    }
}
