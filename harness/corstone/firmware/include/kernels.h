/* The CPU operators that ExecuTorch's Arm lowering leaves outside the delegate, with torch's arithmetic.
 *
 * Rounding is to nearest, ties to even, in float32, one operation at a time (no flush to zero, and no fused multiply-add but in
 * mm, which computes as Arm's image does).
 * Where torch's result is undefined behaviour of C (a float outside the integer's range) ours saturates, NaN gives 0,
 * as the Cortex-M's own conversion does.
 */
#ifndef CORSTONE_KERNELS_H
#define CORSTONE_KERNELS_H

#include "tensor.h"

typedef int (*kernel_function)(struct value **args, uint32_t count, struct error *error);

/* name is "operator.overload", whole, so that a host finds in the image which operators it has. */
struct kernel {
    const char *name;
    kernel_function run;
};

/* NULL when this runner has no such operator. */
const struct kernel *kernel_at(uint32_t index);

int kernel_quantize(struct value **args, uint32_t count, struct error *error);
int kernel_dequantize(struct value **args, uint32_t count, struct error *error);
int kernel_to_dim_order_copy(struct value **args, uint32_t count, struct error *error);
int kernel_gt(struct value **args, uint32_t count, struct error *error);
int kernel_lt(struct value **args, uint32_t count, struct error *error);
int kernel_where(struct value **args, uint32_t count, struct error *error);
int kernel_mm(struct value **args, uint32_t count, struct error *error);
int kernel_argmax(struct value **args, uint32_t count, struct error *error);

/* Argument access with the error text in one place; false and an error when it is not what the kernel needs. */
bool arg_count(uint32_t count, uint32_t wanted, const char *kernel, struct error *error);
bool arg_tensor(struct value **args, uint32_t index, struct tensor **out, const char *kernel, struct error *error);
/* A tensor that may be written: not a constant of the program. */
bool arg_output(struct value **args, uint32_t index, struct tensor **out, const char *kernel, struct error *error);
bool arg_int(struct value **args, uint32_t index, int64_t *out, const char *kernel, struct error *error);
bool arg_double(struct value **args, uint32_t index, double *out, const char *kernel, struct error *error);

/* One element, whatever its dtype: integers (and bool) exactly, floats as double. */
struct scalar {
    bool is_float;
    bool is_double; /* of the dtype float64 */
    int64_t integer;
    double number;
};

bool scalar_supported(uint32_t dtype);
void scalar_load(const struct tensor *tensor, uint32_t element, struct scalar *out);
/* Converts as torch's Tensor.to does. */
void scalar_store(const struct tensor *tensor, uint32_t element, const struct scalar *value);

int32_t saturate_i32(float value);
int64_t saturate_i64(double value);
float round_half_even(float value);
/* int64 to float with one rounding, and without the compiler's library: through double it would be two. */
float float_of_int(int64_t value);
double double_of_int(int64_t value);

#endif
