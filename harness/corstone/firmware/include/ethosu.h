/* One inference on the NPU, in the order the real driver does it (hal_ethos_u ethosu_driver.c): reset, identity, limits,
 * PMU, queue, base addresses, run, interrupt, status. Every wait is bounded.
 */
#ifndef CORSTONE_ETHOSU_H
#define CORSTONE_ETHOSU_H

#include "vela.h"

enum { NPU_EVENTS = 8 };

struct npu_counters {
    uint64_t cycles;
    uint32_t events[NPU_EVENTS];
    uint32_t event_count;
    uint32_t calls;
};

/* Finds the NPU and brings it to a known state; does nothing the second time. */
int npu_start(struct error *error);
/* Makes npu_start begin anew: another run must find the NPU as a boot's first one does. */
void npu_forget(void);
uint32_t npu_config(void);
uint32_t npu_id(void);
/* Names of the counted events, comma separated, as ExecuTorch's report lists them. */
const char *npu_event_names(void);

/* Milliseconds of SysTick time that one inference may take. */
void npu_timeout(uint32_t milliseconds);

/* Runs the delegate; counters are added to. */
int npu_run(const struct vela *vela, uint8_t *scratch, struct npu_counters *counters, struct error *error);

#endif
