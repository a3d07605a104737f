/* Tensors and values of a loaded plan.
 *
 * dtype numbers are those of ExecuTorch's schema/scalar_type.fbs. Strides count elements and follow dim_order.
 */
#ifndef CORSTONE_TENSOR_H
#define CORSTONE_TENSOR_H

#include "base.h"

enum dtype {
    DT_UINT8 = 0,
    DT_INT8 = 1,
    DT_INT16 = 2,
    DT_INT32 = 3,
    DT_INT64 = 4,
    DT_FLOAT16 = 5,
    DT_FLOAT32 = 6,
    DT_FLOAT64 = 7,
    DT_BOOL = 11,
    DT_BFLOAT16 = 15,
    DT_UINT16 = 27,
    DT_UINT32 = 28,
    DT_UINT64 = 29,
};

enum { TENSOR_MAX_RANK = 16 };

/* 0 for a dtype this runner does not know. */
uint32_t dtype_size(uint32_t dtype);
const char *dtype_name(uint32_t dtype);

struct tensor {
    uint8_t *data;
    uint32_t numel;
    uint32_t nbytes;
    uint32_t *sizes;
    uint32_t *strides;
    uint8_t *dim_order;
    uint8_t rank;
    uint8_t dtype;
    bool constant;
};

/* Numbers of the schema's union KernelTypes. */
enum value_kind {
    VALUE_NONE = 0,
    VALUE_NULL = 1,
    VALUE_INT = 2,
    VALUE_BOOL = 3,
    VALUE_DOUBLE = 4,
    VALUE_TENSOR = 5,
    VALUE_STRING = 6,
    VALUE_INT_LIST = 7,
    VALUE_DOUBLE_LIST = 8,
    VALUE_BOOL_LIST = 9,
    VALUE_TENSOR_LIST = 10,
    VALUE_OPTIONAL_TENSOR_LIST = 11,
};

const char *value_kind_name(uint32_t kind);

struct value {
    uint8_t kind;
    union {
        int64_t integer; /* VALUE_INT, VALUE_BOOL (0 or 1) */
        double number;
        struct tensor *tensor;
        struct {
            int64_t *items;
            uint32_t count;
        } list; /* VALUE_INT_LIST, resolved */
    } as;
};

/* Same dtype size, sizes and dim_order: elements correspond by position in memory. */
bool tensor_same_layout(const struct tensor *a, const struct tensor *b);
bool tensor_same_sizes(const struct tensor *a, const struct tensor *b);
/* "[2,5]" into out. */
void tensor_shape_text(const struct tensor *tensor, char *out, uint32_t size);

/* Walks the logical index space of `shape` and keeps the element offsets of up to four operands. */
struct walk {
    const struct tensor *shape;
    uint32_t operands;
    uint32_t strides[4][TENSOR_MAX_RANK];
    uint32_t offset[4];
    uint32_t index[TENSOR_MAX_RANK];
    uint32_t left;
};

void walk_start(struct walk *walk, const struct tensor *shape);
/* Adds an operand that broadcasts to the shape (numpy's rule); false when it does not. */
bool walk_add(struct walk *walk, const struct tensor *operand);
void walk_next(struct walk *walk);

#endif
