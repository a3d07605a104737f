/* The pool for tests on the host: with AddressSanitizer every block has a poisoned gap behind it. */
#include "base.h"

#if defined(__SANITIZE_ADDRESS__)
void __asan_poison_memory_region(void const volatile *address, size_t size);
void __asan_unpoison_memory_region(void const volatile *address, size_t size);
enum { GAP = 32 };
#else
enum { GAP = 0 };
#endif

void *arena_take(struct arena *arena, uint32_t size, uint32_t align)
{
#if defined(__SANITIZE_ADDRESS__)
    if (arena->used == 0) {
        __asan_poison_memory_region(arena->base, arena->size);
    }
#endif
    uintptr_t at = (uintptr_t)arena->base + arena->used;
    uint32_t skip = (uint32_t)((align - (at & (align - 1u))) & (align - 1u));
    uint32_t room = arena->size - arena->used;
    if (skip > room || size > room - skip || room - skip - size < GAP) {
        return NULL;
    }
    uint8_t *block = arena->base + arena->used + skip;
    arena->used += skip + size + GAP;
    arena->peak = arena->used > arena->peak ? arena->used : arena->peak;
#if defined(__SANITIZE_ADDRESS__)
    __asan_unpoison_memory_region(block, size);
#endif
    return block;
}

void *arena_take_array(struct arena *arena, uint32_t count, uint32_t size, uint32_t align)
{
    uint64_t total = (uint64_t)count * size;
    return total > UINT32_MAX ? NULL : arena_take(arena, (uint32_t)total, align);
}
