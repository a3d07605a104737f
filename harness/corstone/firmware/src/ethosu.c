/* Drives the NPU; see ethosu.h. One source for U55, U65 and U85: what differs is a row of `products`. */
#include "ethosu.h"

#include "board.h"
#include "console.h"
#include "cortexm.h"
#include "ethosu_regs.h"
#include "inject.h"

enum { RESET_POLLS = 100000, TICK_HZ = 100, BASES = 3, REGION_BITS = 2 };

extern uint8_t __fast_start[];
extern uint8_t __fast_end[];

struct product {
    const char *name;
    uint32_t pmu;
    uint32_t event_count;
    uint16_t events[NPU_EVENTS];
    const char *event_names;
    uint16_t idle, active; /* events that stop and start the cycle counter */
    bool wide;             /* 40-bit base addresses */
    uint32_t limits[4];    /* AXI_LIMIT0-3 or MEM_ATTR0-3 */
    uint32_t axi_sram, axi_ext;
    uint32_t config_mask; /* what stream and NPU must agree in, besides custom DMA */
};

/* Values of hal_ethos_u's ethosu_config_u55.h, _u65.h, _u85.h, pmu events of pmu_ethosu.h. Index: CONFIG[31:28].
 * Limits: 32 outstanding reads, 16 writes. U85: attributes 0 and 1 are SRAM ports, 2 and 3 external ones. */
static const struct product products[] = {
    {"Ethos-U55", NPU_PMU_U55, 4, {0x82, 0x182, 0x87, 0x20},
     "ETHOSU_PMU_AXI0_RD_DATA_BEAT_RECEIVED, ETHOSU_PMU_AXI1_RD_DATA_BEAT_RECEIVED, ETHOSU_PMU_AXI0_WR_DATA_BEAT_WRITTEN, "
     "ETHOSU_PMU_NPU_IDLE",
     0x20, 0x23, false, {0x0F1F0000, 0x0F1F0000, 0x0F1F0000, 0x0F1F0000}, 0, 0, 0xF00000FFu},
    {"Ethos-U65", NPU_PMU_U55, 4, {0x82, 0x182, 0x87, 0x20},
     "ETHOSU_PMU_AXI0_RD_DATA_BEAT_RECEIVED, ETHOSU_PMU_AXI1_RD_DATA_BEAT_RECEIVED, ETHOSU_PMU_AXI0_WR_DATA_BEAT_WRITTEN, "
     "ETHOSU_PMU_NPU_IDLE",
     0x20, 0x23, true, {0x0F1F0000, 0x0F1F0000, 0x0F1F0000, 0x0F1F0000}, 0, 0, 0xF00000FFu},
    {"Ethos-U85", NPU_PMU_U85, 7, {0x82, 0x87, 0x182, 0x187, 0x20, 0x30, 0x50},
     "ETHOSU_PMU_SRAM_RD_DATA_BEAT_RECEIVED, ETHOSU_PMU_SRAM_WR_DATA_BEAT_WRITTEN, ETHOSU_PMU_EXT_RD_DATA_BEAT_RECEIVED, "
     "ETHOSU_PMU_EXT_WR_DATA_BEAT_WRITTEN, ETHOSU_PMU_NPU_IDLE, ETHOSU_PMU_MAC_ACTIVE, ETHOSU_PMU_WD_ACTIVE",
     0x20, 0x23, true, {0, 0, 4, 4}, 0x00020F0B, 0x00021F3F, 0xF00007FFu},
};

static const struct product *product;
static uint32_t config;
static uint32_t id;
static uint32_t timeout_ms = 60000;

static volatile bool interrupted;
static volatile uint32_t interrupt_status;
static volatile uint32_t ticks;

static uint32_t npu_read(uint32_t offset)
{
    return reg_read(BOARD_NPU + offset);
}

static void npu_write(uint32_t offset, uint32_t value)
{
    reg_write(BOARD_NPU + offset, value);
}

/* The driver's order: clear the request, then look at the status. */
void npu_interrupt(void);
void npu_interrupt(void)
{
    npu_write(NPU_CMD, (npu_read(NPU_CMD) & CMD_CLOCK_POWER_Q) | CMD_CLEAR_IRQ);
    interrupt_status = npu_read(NPU_STATUS);
    interrupted = true;
}

void tick_interrupt(void);
void tick_interrupt(void)
{
    ticks = ticks + 1u;
}

uint32_t npu_config(void)
{
    return config;
}

uint32_t npu_id(void)
{
    return id;
}

const char *npu_event_names(void)
{
    return product != NULL ? product->event_names : "";
}

void npu_timeout(uint32_t milliseconds)
{
    timeout_ms = milliseconds;
}

static int soft_reset(struct error *error)
{
    npu_write(NPU_RESET, RESET_PRIVILEGED_SECURE);
    uint32_t polls = 0;
    while ((npu_read(NPU_STATUS) & STATUS_RESET) != 0) {
        if (++polls >= RESET_POLLS) {
            DRIVER_LOG('E', "Soft reset timed out");
            return error_set(error, STATUS_NPU_TIMEOUT, "NPU still in reset after %u reads of STATUS", (unsigned)polls);
        }
    }
    uint32_t protection = npu_read(NPU_PROT);
    if (protection != RESET_PRIVILEGED_SECURE) {
        DRIVER_LOG('E', "Failed to switch security state and privilege level");
        return error_set(error, STATUS_NPU_FAULT, "NPU PROT is 0x%x after reset, expected 0x%x", (unsigned)protection,
                         (unsigned)RESET_PRIVILEGED_SECURE);
    }
    for (uint32_t i = 0; i < 4; i++) {
        npu_write(NPU_AXI_LIMIT0 + 4u * i, product->limits[i]);
    }
    if (product->axi_sram != 0) {
        npu_write(NPU_POWER_CTRL, 0);
        npu_write(NPU_AXI_SRAM, product->axi_sram);
        npu_write(NPU_AXI_EXT, product->axi_ext);
    }
    return STATUS_OK;
}

void npu_forget(void)
{
    product = NULL;
}

int npu_start(struct error *error)
{
    if (product != NULL) {
        return STATUS_OK;
    }
    config = npu_read(NPU_CONFIG);
    id = npu_read(NPU_ID);
    uint32_t number = config >> 28;
    if (config == 0 || id == 0) {
        return error_set(error, STATUS_NO_NPU, "no Ethos-U at 0x%08x: CONFIG is 0x%08x, ID is 0x%08x", (unsigned)BOARD_NPU,
                         (unsigned)config, (unsigned)id);
    }
    if (number >= ARRAY_SIZE(products)) {
        DRIVER_LOG('E', "Failed to initialize device. Driver has not been compiled for this product");
        return error_set(error, STATUS_UNSUPPORTED, "NPU product %u (CONFIG 0x%08x)", (unsigned)number, (unsigned)config);
    }
    product = &products[number];
    if (soft_reset(error) != STATUS_OK) {
        product = NULL;
        return error->code;
    }
    npu_write(NPU_CMD, CMD_CLOCK_POWER_Q);
    reg_write(NVIC_ISER0 + 4u * (BOARD_NPU_IRQ / 32u), 1u << (BOARD_NPU_IRQ % 32u));
    LOG('I', "%s at 0x%08x: CONFIG 0x%08x, ID 0x%08x", product->name, (unsigned)BOARD_NPU, (unsigned)config, (unsigned)id);
    console_frame("\"e\":\"npu\",\"product\":\"%s\",\"config\":%u,\"id\":%u", product->name, (unsigned)config, (unsigned)id);
    return STATUS_OK;
}

/* What the driver compares: product, log2 of MACs, stream version (U85: also its port counts); then the architecture. */
static int check_identity(const struct vela *vela, struct error *error)
{
    uint32_t stream_config = inject_is(INJECT_NPU_CONFIG) ? vela->config ^ 1u : vela->config;
    uint32_t difference = (stream_config ^ config) & product->config_mask;
    if (difference != 0) {
        if ((difference >> 28) != 0) {
            DRIVER_LOG('E', "NPU config mismatch. npu.product=%u, optimizer.product=%u", (unsigned)(config >> 28),
                       (unsigned)(stream_config >> 28));
        }
        if ((difference & 0xFu) != 0) {
            DRIVER_LOG('E', "NPU config mismatch. npu.macs_per_cc=%u, optimizer.macs_per_cc=%u", (unsigned)(config & 0xFu),
                       (unsigned)(stream_config & 0xFu));
        }
        if ((difference & 0xF0u) != 0) {
            DRIVER_LOG('E', "NPU config mismatch. npu.cmd_stream_version=%u, optimizer.cmd_stream_version=%u",
                       (unsigned)(config >> 4 & 0xFu), (unsigned)(stream_config >> 4 & 0xFu));
        }
        return error_set(error, STATUS_CONFIG, "command stream is for CONFIG 0x%08x, this NPU is 0x%08x (log2 of MACs: %u, %u)",
                         (unsigned)stream_config, (unsigned)config, (unsigned)(stream_config & 0xFu),
                         (unsigned)(config & 0xFu));
    }
    uint32_t npu_minor = id >> 20 & 0xFFu;
    uint32_t stream_minor = vela->id >> 20 & 0xFFu;
    if (id >> 28 != vela->id >> 28 || npu_minor < stream_minor) {
        DRIVER_LOG('E', "NPU arch mismatch. npu.arch=%u.%u.%u, optimizer.arch=%u.%u.%u", (unsigned)(id >> 28),
                   (unsigned)npu_minor, (unsigned)(id >> 16 & 0xFu), (unsigned)(vela->id >> 28), (unsigned)stream_minor,
                   (unsigned)(vela->id >> 16 & 0xFu));
        return error_set(error, STATUS_CONFIG, "command stream is for architecture ID 0x%08x, this NPU is 0x%08x",
                         (unsigned)vela->id, (unsigned)id);
    }
    return STATUS_OK;
}

static int check_alignment(const uint8_t *stream, const uintptr_t *bases, struct error *error)
{
    if (((uintptr_t)stream & 15u) != 0) {
        DRIVER_LOG('E', "Command stream addr %p not aligned to 16 bytes", (const void *)stream);
        return error_set(error, STATUS_ALIGNMENT, "command stream at %p is not aligned to 16 bytes", (const void *)stream);
    }
    for (uint32_t i = 0; i < BASES; i++) {
        if ((bases[i] & 15u) != 0) {
            DRIVER_LOG('E', "Base addr %u: 0x%08x not aligned to 16 bytes", (unsigned)i, (unsigned)bases[i]);
            return error_set(error, STATUS_ALIGNMENT, "base address %u (0x%08x) is not aligned to 16 bytes", (unsigned)i,
                             (unsigned)bases[i]);
        }
    }
    return STATUS_OK;
}

/* As arm_perf_monitor.cpp sets it up: cycles between leaving and reaching idle, and one counter an event. */
static void counters_start(void)
{
    uint32_t pmu = product->pmu;
    npu_write(pmu + PMU_CR, PMCR_ENABLE);
    npu_write(pmu + PMU_CCNTR_CFG, (uint32_t)product->idle << 16 | product->active);
    for (uint32_t i = 0; i < product->event_count; i++) {
        npu_write(pmu + PMU_EVTYPER0 + 4u * i, product->events[i]);
    }
    npu_write(pmu + PMU_CNTENSET, PMU_CYCLE_COUNTER | ((1u << product->event_count) - 1u));
    npu_write(pmu + PMU_CR, PMCR_ENABLE | PMCR_RESET_CYCLES | PMCR_RESET_EVENTS);
}

static void counters_read(struct npu_counters *counters)
{
    uint32_t pmu = product->pmu;
    uint64_t low = npu_read(pmu + PMU_CCNTR_LO);
    counters->cycles += (uint64_t)npu_read(pmu + PMU_CCNTR_HI) << 32 | low;
    counters->event_count = product->event_count;
    for (uint32_t i = 0; i < product->event_count; i++) {
        counters->events[i] += npu_read(pmu + PMU_EVCNTR0 + 4u * i);
    }
    counters->calls++;
    npu_write(pmu + PMU_CR, 0);
}

/* Sleeps until the interrupt or until the deadline. Interrupts are masked around the test so that none is missed:
 * a pending one still ends WFI. */
static bool wait_for_interrupt(void)
{
    uint32_t limit = timeout_ms / (1000u / TICK_HZ) + 1u;
    ticks = 0;
    reg_write(SYST_RVR, BOARD_CLOCK_HZ / TICK_HZ - 1u);
    reg_write(SYST_CVR, 0);
    reg_write(SYST_CSR, 7);
    for (;;) {
        __asm volatile("cpsid i" ::: "memory");
        if (interrupted || ticks >= limit) {
            __asm volatile("cpsie i" ::: "memory");
            break;
        }
        __asm volatile("wfi\n\tcpsie i\n\tisb" ::: "memory");
    }
    reg_write(SYST_CSR, 0);
    return interrupted;
}

static int judge_status(uint32_t status, struct error *error)
{
    if ((status & STATUS_FAULTS) == 0 && (status & STATUS_END_REACHED) != 0) {
        return STATUS_OK;
    }
    uint32_t qread = npu_read(NPU_QREAD);
    DRIVER_LOG('E', "NPU error(s) occured during inference.");
    DRIVER_LOG('E', "NPU status=0x%08x, qread=%u, cmd_end_reached=%u", (unsigned)status, (unsigned)qread,
               (unsigned)((status & STATUS_END_REACHED) != 0));
    const char *what = (status & STATUS_PARSE) != 0      ? "command parse error"
                       : (status & STATUS_BUS) != 0      ? "bus error"
                       : (status & STATUS_WATCHDOG) != 0 ? "watchdog"
                       : (status & STATUS_ECC) != 0      ? "ECC error"
                       : (status & STATUS_BRANCH) != 0   ? "branch error"
                                                         : "end of the stream not reached";
    return error_set(error, STATUS_NPU_FAULT, "NPU %s: status 0x%08x, stopped at byte %u of the stream, interface %u, channel %u",
                     what, (unsigned)status, (unsigned)qread, (unsigned)(status >> 11 & 1u), (unsigned)(status >> 12 & 15u));
}

static void start_queue(const struct vela *vela, const uintptr_t *bases)
{
    /* Regions: 0 model (attribute 3), 1 scratch (0), others 1; queue 2. The driver's defaults; U65 has scratch at 2. */
    uint32_t regions = 3u | 0u << REGION_BITS;
    if (product->pmu == NPU_PMU_U55 && product->wide) {
        regions = 3u | 2u << REGION_BITS;
    }
    for (uint32_t i = 2; i < 8; i++) {
        regions |= 1u << (REGION_BITS * i);
    }
    npu_write(NPU_QBASE_LO, (uint32_t)(uintptr_t)vela->stream.data);
    if (product->wide) {
        npu_write(NPU_QBASE_HI, 0);
    }
    npu_write(NPU_QSIZE, inject_is(INJECT_NPU_SHORT_STREAM) ? 4u : vela->stream.size);
    npu_write(NPU_QCONFIG, 2);
    for (uint32_t i = 0; i < BASES; i++) {
        npu_write(NPU_BASEP0_LO + 8u * i, (uint32_t)bases[i]);
        if (product->wide) {
            npu_write(NPU_BASEP0_LO + 8u * i + 4u, 0);
        }
    }
    npu_write(NPU_REGIONCFG, regions);
    interrupted = false;
    barrier();
    if (!inject_is(INJECT_NPU_NO_START)) {
        npu_write(NPU_CMD, CMD_RUN);
    }
}

int npu_run(const struct vela *vela, uint8_t *scratch, struct npu_counters *counters, struct error *error)
{
    const uint8_t *stream = vela->stream.data + (inject_is(INJECT_NPU_UNALIGNED) ? 4 : 0);
    uintptr_t bases[BASES] = {(uintptr_t)vela->weights.data, (uintptr_t)scratch, (uintptr_t)__fast_start};
    bases[1] = inject_is(INJECT_NPU_BAD_BASE) ? 0xF0000000u : bases[1];
    bases[1] += inject_is(INJECT_NPU_ELSEWHERE) ? 16u << 20 : 0u;
    if (npu_start(error) != STATUS_OK || check_identity(vela, error) != STATUS_OK ||
        check_alignment(stream, bases, error) != STATUS_OK) {
        return error->code;
    }
    if (inject_is(INJECT_NPU_BAD_STREAM)) {
        fill_bytes((void *)(uintptr_t)vela->stream.data, 0xFF, 8);
    }
    if (inject_is(INJECT_NPU_NO_IRQ)) {
        reg_write(NVIC_ICER0 + 4u * (BOARD_NPU_IRQ / 32u), 1u << (BOARD_NPU_IRQ % 32u));
    }
    npu_write(NPU_CMD, 0); /* clock and power stay on while it runs */
    counters_start();
    start_queue(vela, bases);
    if (!wait_for_interrupt()) {
        DRIVER_LOG('E', "NPU inference timed out.");
        (void)error_set(error, STATUS_NPU_TIMEOUT, "NPU inference timed out after %u ms: status 0x%08x, byte %u of %u",
                        (unsigned)timeout_ms, (unsigned)npu_read(NPU_STATUS), (unsigned)npu_read(NPU_QREAD),
                        (unsigned)vela->stream.size);
    } else if (judge_status(interrupt_status, error) == STATUS_OK) {
        counters_read(counters);
        npu_write(NPU_CMD, CMD_CLOCK_POWER_Q);
        return STATUS_OK;
    }
    /* Faults clear only by reset. */
    struct error ignored = {0};
    (void)soft_reset(&ignored);
    return error->code;
}
