/* vela_bin_stream: the delegate's container, and the driver payload (COP1) inside it.
 *
 * Source: executorch backends/arm/arm_vela.py and runtime/VelaBinStream; ethos-u-vela driver_actions.py.
 */
#ifndef CORSTONE_VELA_H
#define CORSTONE_VELA_H

#include "pte.h"

/* Nine little-endian words an entry, in the file. */
struct vela_io {
    uint32_t elements; /* product of the six dimensions */
    uint32_t element_size;
    uint32_t offset;
    uint32_t region;
};

struct vela {
    struct span command; /* the driver payload */
    struct span stream;  /* the command stream inside it */
    struct span weights;
    uint32_t config; /* CONFIG and ID the compiler wrote */
    uint32_t id;
    uint32_t scratch_size;
    const uint8_t *inputs;
    uint32_t input_count;
    const uint8_t *outputs;
    uint32_t output_count;
};

int vela_read(struct vela *vela, struct span blob, struct error *error);
/* index below the count; the numbers are checked against scratch_size. */
int vela_io_at(const struct vela *vela, const uint8_t *table, uint32_t index, struct vela_io *io, struct error *error);

#endif
