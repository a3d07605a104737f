/* Loads a method: values, planned memory, operators, delegates and instructions. Running it is interpreter.c. */
#include "plan.h"

enum { DEFAULT_STEP_LIMIT = 1000000 };

static int no_memory(struct error *error, const char *what, uint64_t size, const struct arena *arena)
{
    return error_set(error, STATUS_POOL, "Memory allocation failed: %llu bytes for %s, %u of %u bytes available",
                     (unsigned long long)size, what, (unsigned)(arena->size - arena->used), (unsigned)arena->size);
}

static void *take(struct arena *arena, uint32_t count, uint32_t size, const char *what, struct error *error)
{
    void *block = arena_take_array(arena, count == 0 ? 1 : count, size, 8);
    if (block == NULL) {
        (void)no_memory(error, what, (uint64_t)count * size, arena);
        return NULL;
    }
    fill_bytes(block, 0, (size_t)(count == 0 ? 1 : count) * size);
    return block;
}

/* A vector of non-negative indices below `limit`. */
static int load_indices(struct plan *plan, struct arena *arena, const struct fb_vector *vector, uint32_t limit,
                        uint32_t **out, uint32_t *count, const char *what, struct error *error)
{
    uint32_t *indices = take(arena, vector->count, sizeof *indices, what, error);
    if (indices == NULL) {
        return error->code;
    }
    for (uint32_t i = 0; i < vector->count; i++) {
        uint32_t index = le32(plan->pte.fb.data + vector->position + 4u * i);
        if (index >= limit) {
            return error_set(error, STATUS_PROGRAM, "%s %u is value %d of %u", what, (unsigned)i, (int)index, (unsigned)limit);
        }
        indices[i] = index;
    }
    *out = indices;
    *count = vector->count;
    return STATUS_OK;
}

static int load_shape(struct plan *plan, struct arena *arena, const struct fb_table *table, struct tensor *tensor,
                      uint32_t number, struct error *error)
{
    struct fb *fb = &plan->pte.fb;
    struct fb_vector sizes = fb_vector(fb, table, TENSOR_SIZES, 4);
    struct fb_vector order = fb_vector(fb, table, TENSOR_DIM_ORDER, 1);
    uint32_t rank = sizes.count;
    if (fb->bad || rank > TENSOR_MAX_RANK || (order.count != 0 && order.count != rank)) {
        fb_mark_bad(fb, table->position);
        return pte_check(&plan->pte, "tensor shape", error);
    }
    tensor->rank = (uint8_t)rank;
    tensor->sizes = take(arena, rank, sizeof *tensor->sizes, "a shape", error);
    tensor->strides = take(arena, rank, sizeof *tensor->strides, "strides", error);
    tensor->dim_order = take(arena, rank, 1, "a dim order", error);
    if (error->code != STATUS_OK) {
        return error->code;
    }
    uint64_t numel = 1;
    uint32_t seen = 0;
    for (uint32_t i = 0; i < rank; i++) {
        uint32_t size = le32(fb->data + sizes.position + 4u * i);
        uint32_t dim = order.count == 0 ? i : fb->data[order.position + i];
        if (size > INT32_MAX || dim >= rank || (seen & (1u << dim)) != 0) {
            return error_set(error, STATUS_PROGRAM, "tensor %u: dimension %u has size %d and place %u", (unsigned)number,
                             (unsigned)i, (int)size, (unsigned)dim);
        }
        seen |= 1u << dim;
        tensor->sizes[i] = size;
        tensor->dim_order[i] = (uint8_t)dim;
        numel *= size;
        if (numel * dtype_size(tensor->dtype) > INT32_MAX) {
            return error_set(error, STATUS_PROGRAM, "tensor %u has more than 2^31 bytes", (unsigned)number);
        }
    }
    uint32_t stride = 1;
    for (uint32_t i = rank; i-- > 0;) {
        tensor->strides[tensor->dim_order[i]] = stride;
        stride *= tensor->sizes[tensor->dim_order[i]];
    }
    tensor->numel = (uint32_t)numel;
    tensor->nbytes = (uint32_t)numel * dtype_size(tensor->dtype);
    return STATUS_OK;
}

/* Points the tensor at planned memory, at the file, or at memory of its own. */
static int place_tensor(struct plan *plan, struct arena *arena, const struct fb_table *table, struct tensor *tensor,
                        uint32_t number, struct error *error)
{
    struct fb *fb = &plan->pte.fb;
    uint32_t element = dtype_size(tensor->dtype);
    uint32_t buffer = fb_u32(fb, table, TENSOR_BUFFER, 0);
    struct fb_table allocation = fb_child(fb, table, TENSOR_ALLOCATION);
    struct fb_table extra = fb_child(fb, table, TENSOR_EXTRA);
    if (fb_u8(fb, &extra, 2, 0) != 0) {
        return error_set(error, STATUS_UNSUPPORTED, "tensor %u keeps its data outside the program", (unsigned)number);
    }
    uint32_t memory = fb_u32(fb, &allocation, 0, 0);
    uint64_t offset = (uint64_t)fb_u32(fb, &allocation, 2, 0) << 32 | fb_u32(fb, &allocation, 1, 0);
    uint64_t segments = fb_u64(fb, &extra, 0, 0);
    struct span data = {NULL, 0};
    if (pte_check(&plan->pte, "tensor", error) != STATUS_OK) {
        return error->code;
    }
    if (allocation.position != 0) {
        uint32_t room = memory != 0 && memory < plan->buffer_count ? plan->buffers[memory].size : 0;
        if (offset > room || tensor->nbytes > room - offset || offset % element != 0) {
            return error_set(error, STATUS_PROGRAM, "tensor %u: %u bytes at %llu of memory %u, which has %u bytes",
                             (unsigned)number, (unsigned)tensor->nbytes, (unsigned long long)offset, (unsigned)memory,
                             (unsigned)room);
        }
        if (tensor->nbytes > 0) {
            tensor->data = (uint8_t *)(uintptr_t)plan->buffers[memory].data + (uint32_t)offset;
        }
        if (buffer != 0 && pte_initial(&plan->pte, segments, buffer, tensor->nbytes, &data, error) == STATUS_OK) {
            (void)copy_bytes(tensor->data, data.data, tensor->nbytes);
        }
        return error->code;
    }
    if (buffer != 0) {
        if (pte_constant(&plan->pte, buffer, tensor->nbytes, &data, error) != STATUS_OK) {
            return error->code;
        }
        tensor->constant = true;
        if ((uintptr_t)data.data % element == 0) {
            tensor->data = (uint8_t *)(uintptr_t)data.data;
            return STATUS_OK;
        }
    }
    tensor->data = arena_take(arena, tensor->nbytes, 16);
    if (tensor->data == NULL) {
        return no_memory(error, "a tensor", tensor->nbytes, arena);
    }
    if (data.data != NULL) {
        (void)copy_bytes(tensor->data, data.data, tensor->nbytes);
    }
    return STATUS_OK;
}

static int load_tensor(struct plan *plan, struct arena *arena, const struct fb_table *table, struct value *value,
                       uint32_t number, struct error *error)
{
    struct fb *fb = &plan->pte.fb;
    struct tensor *tensor = take(arena, 1, sizeof *tensor, "a tensor", error);
    if (tensor == NULL) {
        return error->code;
    }
    value->as.tensor = tensor;
    tensor->dtype = fb_u8(fb, table, TENSOR_DTYPE, 0);
    if (dtype_size(tensor->dtype) == 0) {
        return error_set(error, STATUS_UNSUPPORTED, "tensor %u has scalar type %u", (unsigned)number, (unsigned)tensor->dtype);
    }
    if (fb_u8(fb, table, TENSOR_DYNAMISM, 0) > 1 || fb_u32(fb, table, TENSOR_OFFSET, 0) != 0) {
        return error_set(error, STATUS_UNSUPPORTED, "tensor %u has an unbounded shape or a storage offset", (unsigned)number);
    }
    if (load_shape(plan, arena, table, tensor, number, error) != STATUS_OK) {
        return error->code;
    }
    return place_tensor(plan, arena, table, tensor, number, error);
}

/* The items are indices of Int values; they are resolved once all values are known. */
static int load_int_list(struct plan *plan, struct arena *arena, const struct fb_table *table, struct value *value,
                         struct error *error)
{
    struct fb_vector items = fb_vector(&plan->pte.fb, table, 0, 8);
    value->as.list.count = items.count;
    value->as.list.items = take(arena, items.count, sizeof(int64_t), "a list", error);
    for (uint32_t i = 0; error->code == STATUS_OK && i < items.count; i++) {
        uint64_t index = le64(plan->pte.fb.data + items.position + 8u * i);
        if (index >= plan->value_count) {
            return error_set(error, STATUS_PROGRAM, "a list names value %lld of %u", (long long)index,
                             (unsigned)plan->value_count);
        }
        value->as.list.items[i] = (int64_t)index;
    }
    return error->code;
}

static int load_value(struct plan *plan, struct arena *arena, const struct fb_table *entry, uint32_t number,
                      struct error *error)
{
    struct fb *fb = &plan->pte.fb;
    struct value *value = &plan->values[number];
    struct fb_table table = fb_child(fb, entry, 1);
    value->kind = fb_u8(fb, entry, 0, VALUE_NONE);
    if (pte_check(&plan->pte, "value", error) != STATUS_OK) {
        return error->code;
    }
    if (value->kind > VALUE_NULL && table.position == 0) {
        return error_set(error, STATUS_PROGRAM, "value %u (%s) has no content", (unsigned)number,
                         value_kind_name(value->kind));
    }
    switch (value->kind) {
    case VALUE_INT: value->as.integer = fb_i64(fb, &table, 0, 0); break;
    case VALUE_BOOL: value->as.integer = fb_u8(fb, &table, 0, 0) != 0; break;
    case VALUE_DOUBLE: value->as.number = fb_f64(fb, &table, 0, 0.0); break;
    case VALUE_TENSOR: return load_tensor(plan, arena, &table, value, number, error);
    case VALUE_INT_LIST: return load_int_list(plan, arena, &table, value, error);
    default:
        /* Strings and the other lists are never read by our kernels, which name the kind when they meet one. */
        if (value->kind > VALUE_OPTIONAL_TENSOR_LIST) {
            return error_set(error, STATUS_PROGRAM, "value %u has the unknown kind %u", (unsigned)number,
                             (unsigned)value->kind);
        }
        break;
    }
    return pte_check(&plan->pte, "value", error);
}

static int resolve_lists(struct plan *plan, struct error *error)
{
    for (uint32_t i = 0; i < plan->value_count; i++) {
        struct value *value = &plan->values[i];
        for (uint32_t k = 0; value->kind == VALUE_INT_LIST && k < value->as.list.count; k++) {
            const struct value *item = &plan->values[value->as.list.items[k]];
            if (item->kind != VALUE_INT) {
                return error_set(error, STATUS_PROGRAM, "value %u: item %u of the list is %s, expected Int", (unsigned)i,
                                 (unsigned)k, value_kind_name(item->kind));
            }
            value->as.list.items[k] = item->as.integer;
        }
    }
    return STATUS_OK;
}

static int load_values(struct plan *plan, struct arena *arena, struct error *error)
{
    struct fb *fb = &plan->pte.fb;
    struct fb_vector values = fb_vector(fb, &plan->pte.method, PLAN_VALUES, 4);
    plan->value_count = values.count;
    plan->values = take(arena, values.count, sizeof *plan->values, "values", error);
    for (uint32_t i = 0; error->code == STATUS_OK && i < values.count; i++) {
        struct fb_table entry = fb_element(fb, &values, i);
        (void)load_value(plan, arena, &entry, i, error);
    }
    if (error->code != STATUS_OK) {
        return error->code;
    }
    return resolve_lists(plan, error);
}

static int load_buffers(struct plan *plan, struct arena *arena, struct error *error)
{
    struct fb *fb = &plan->pte.fb;
    struct fb_vector sizes = fb_vector(fb, &plan->pte.method, PLAN_BUFFER_SIZES, 8);
    plan->buffer_count = sizes.count;
    plan->buffers = take(arena, sizes.count, sizeof *plan->buffers, "planned memory", error);
    /* Entry 0 stands for constants and has no memory. */
    for (uint32_t i = 1; error->code == STATUS_OK && i < sizes.count; i++) {
        uint64_t size = le64(fb->data + sizes.position + 8u * i);
        void *block = size > INT32_MAX ? NULL : arena_take(arena, (uint32_t)size, 16);
        if (block == NULL) {
            return no_memory(error, "planned memory", size, arena);
        }
        plan->buffers[i] = (struct span){block, (uint32_t)size};
    }
    return error->code;
}

static const struct kernel *find_kernel(const struct fb *fb, const struct fb_vector *name, const struct fb_vector *overload)
{
    const struct kernel *kernel;
    for (uint32_t i = 0; (kernel = kernel_at(i)) != NULL; i++) {
        const char *dot = fb_text_prefix(fb, name, kernel->name);
        if (dot != NULL && *dot == '.' && fb_text_equal(fb, overload, dot + 1)) {
            return kernel;
        }
    }
    return NULL;
}

/* Printable copy of a string in the file. */
static void copy_text(const struct fb *fb, const struct fb_vector *text, char *out, uint32_t size)
{
    uint32_t length = text->count < size - 1u ? text->count : size - 1u;
    for (uint32_t i = 0; i < length; i++) {
        uint8_t c = fb->data[text->position + i];
        out[i] = (c >= ' ' && c < 0x7F && c != '"' && c != '\\') ? (char)c : '?';
    }
    out[length] = '\0';
}

static int load_operators(struct plan *plan, struct arena *arena, struct error *error)
{
    struct fb *fb = &plan->pte.fb;
    struct fb_vector operators = fb_vector(fb, &plan->pte.method, PLAN_OPERATORS, 4);
    plan->kernel_count = operators.count;
    plan->kernels = take(arena, operators.count, sizeof *plan->kernels, "operators", error);
    for (uint32_t i = 0; error->code == STATUS_OK && i < operators.count; i++) {
        struct fb_table entry = fb_element(fb, &operators, i);
        struct fb_vector name = fb_string(fb, &entry, 0);
        struct fb_vector overload = fb_string(fb, &entry, 1);
        if (pte_check(&plan->pte, "operator", error) != STATUS_OK) {
            return error->code;
        }
        plan->kernels[i] = find_kernel(fb, &name, &overload);
        if (plan->kernels[i] == NULL) {
            char text[64];
            char which[24];
            copy_text(fb, &name, text, sizeof text);
            copy_text(fb, &overload, which, sizeof which);
            return error_set(error, STATUS_UNSUPPORTED, "Missing operator: [%u] %s.%s", (unsigned)i, text, which);
        }
    }
    return error->code;
}

static int load_delegates(struct plan *plan, struct arena *arena, struct error *error)
{
    struct fb *fb = &plan->pte.fb;
    struct fb_vector delegates = fb_vector(fb, &plan->pte.method, PLAN_DELEGATES, 4);
    plan->delegate_count = delegates.count;
    plan->delegates = take(arena, delegates.count, sizeof *plan->delegates, "delegates", error);
    for (uint32_t i = 0; error->code == STATUS_OK && i < delegates.count; i++) {
        struct fb_table entry = fb_element(fb, &delegates, i);
        struct fb_vector id = fb_string(fb, &entry, 0);
        struct span blob;
        if (pte_check(&plan->pte, "delegate", error) != STATUS_OK) {
            return error->code;
        }
        if (!fb_text_equal(fb, &id, "EthosUBackend")) {
            char text[40];
            copy_text(fb, &id, text, sizeof text);
            return error_set(error, STATUS_UNSUPPORTED, "Backend %s is not registered.", text);
        }
        if (pte_delegate(&plan->pte, &entry, &blob, error) == STATUS_OK &&
            vela_read(&plan->delegates[i], blob, error) == STATUS_OK &&
            plan->delegates[i].scratch_size > plan->scratch_size) {
            plan->scratch_size = plan->delegates[i].scratch_size;
        }
    }
    return error->code;
}

static int load_step(struct plan *plan, struct arena *arena, const struct fb_table *entry, struct instruction *step,
                     struct error *error)
{
    struct fb *fb = &plan->pte.fb;
    struct fb_table body = fb_child(fb, entry, 1);
    step->kind = fb_u8(fb, entry, 0, 0);
    step->a = fb_u32(fb, &body, 0, 0);
    if (step->kind == STEP_MOVE || step->kind == STEP_JUMP_FALSE) {
        step->b = fb_u32(fb, &body, 1, 0);
    }
    if (pte_check(&plan->pte, "instruction", error) != STATUS_OK) {
        return error->code;
    }
    uint32_t limit = step->kind == STEP_KERNEL     ? plan->kernel_count
                     : step->kind == STEP_DELEGATE ? plan->delegate_count
                                                   : plan->value_count;
    if (body.position == 0 || step->kind < STEP_KERNEL || step->kind > STEP_FREE || step->a >= limit ||
        (step->kind == STEP_MOVE && step->b >= plan->value_count)) {
        return error_set(error, STATUS_PROGRAM, "instruction of kind %u names %d and %d", (unsigned)step->kind, (int)step->a,
                         (int)step->b);
    }
    if (step->kind == STEP_KERNEL || step->kind == STEP_DELEGATE) {
        struct fb_vector args = fb_vector(fb, &body, 1, 4);
        if (pte_check(&plan->pte, "arguments", error) != STATUS_OK ||
            load_indices(plan, arena, &args, plan->value_count, &step->args, &step->arg_count, "argument", error) !=
                STATUS_OK) {
            return error->code;
        }
        plan->argument_room = step->arg_count > plan->argument_room ? step->arg_count : plan->argument_room;
    }
    return STATUS_OK;
}

static int load_chains(struct plan *plan, struct arena *arena, struct error *error)
{
    struct fb *fb = &plan->pte.fb;
    struct fb_vector chains = fb_vector(fb, &plan->pte.method, PLAN_CHAINS, 4);
    plan->chain_count = chains.count;
    plan->chains = take(arena, chains.count, sizeof *plan->chains, "chains", error);
    for (uint32_t i = 0; error->code == STATUS_OK && i < chains.count; i++) {
        struct fb_table entry = fb_element(fb, &chains, i);
        struct fb_vector steps = fb_vector(fb, &entry, 2, 4);
        struct chain *chain = &plan->chains[i];
        chain->count = steps.count;
        chain->steps = take(arena, steps.count, sizeof *chain->steps, "instructions", error);
        for (uint32_t k = 0; error->code == STATUS_OK && k < steps.count; k++) {
            struct fb_table step = fb_element(fb, &steps, k);
            (void)load_step(plan, arena, &step, &chain->steps[k], error);
        }
    }
    return error->code != STATUS_OK ? error->code : pte_check(&plan->pte, "chains", error);
}

static int load_signature(struct plan *plan, struct arena *arena, struct error *error)
{
    struct fb *fb = &plan->pte.fb;
    struct fb_vector name = fb_string(fb, &plan->pte.method, PLAN_NAME);
    struct fb_vector inputs = fb_vector(fb, &plan->pte.method, PLAN_INPUTS, 4);
    struct fb_vector outputs = fb_vector(fb, &plan->pte.method, PLAN_OUTPUTS, 4);
    if (pte_check(&plan->pte, "inputs and outputs", error) != STATUS_OK) {
        return error->code;
    }
    copy_text(fb, &name, plan->name, sizeof plan->name);
    (void)load_indices(plan, arena, &inputs, plan->value_count, &plan->inputs, &plan->input_count, "input", error);
    if (error->code == STATUS_OK) {
        (void)load_indices(plan, arena, &outputs, plan->value_count, &plan->outputs, &plan->output_count, "output", error);
    }
    return error->code;
}

int plan_load(struct plan *plan, const uint8_t *file, uint32_t size, struct arena *arena, struct error *error)
{
    *plan = (struct plan){.step_limit = DEFAULT_STEP_LIMIT};
    if (pte_open(&plan->pte, file, size, error) != STATUS_OK || load_buffers(plan, arena, error) != STATUS_OK ||
        load_values(plan, arena, error) != STATUS_OK || load_operators(plan, arena, error) != STATUS_OK ||
        load_delegates(plan, arena, error) != STATUS_OK || load_chains(plan, arena, error) != STATUS_OK ||
        load_signature(plan, arena, error) != STATUS_OK) {
        return error->code;
    }
    plan->arguments = take(arena, plan->argument_room, sizeof(struct value *), "arguments", error);
    plan->scratch = arena_take(arena, plan->scratch_size, 16);
    if (plan->scratch == NULL) {
        return error_set(error, STATUS_POOL, "Failed to allocate scratch buffer of %u bytes from temp_allocator, %u available",
                         (unsigned)plan->scratch_size, (unsigned)(arena->size - arena->used));
    }
    return error->code;
}

struct tensor *plan_input(const struct plan *plan, uint32_t index)
{
    struct value *value = &plan->values[plan->inputs[index]];
    return value->kind == VALUE_TENSOR ? value->as.tensor : NULL;
}

struct tensor *plan_output(const struct plan *plan, uint32_t index)
{
    struct value *value = &plan->values[plan->outputs[index]];
    return value->kind == VALUE_TENSOR ? value->as.tensor : NULL;
}
