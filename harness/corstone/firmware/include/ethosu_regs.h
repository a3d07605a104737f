/* Ethos-U55, U65 and U85 registers, byte offsets from the NPU's base.
 * Source: hal_ethos_u ethosu55_interface.h, ethosu65_interface.h, ethosu85_interface.h, pmu_ethosu.h. */
#ifndef CORSTONE_ETHOSU_REGS_H
#define CORSTONE_ETHOSU_REGS_H

enum ethosu_register {
    NPU_ID = 0x000,
    NPU_STATUS = 0x004,
    NPU_CMD = 0x008,
    NPU_RESET = 0x00C,
    NPU_QBASE_LO = 0x010,
    NPU_QBASE_HI = 0x014,
    NPU_QREAD = 0x018,
    NPU_QCONFIG = 0x01C,
    NPU_QSIZE = 0x020,
    NPU_PROT = 0x024,
    NPU_CONFIG = 0x028,
    NPU_POWER_CTRL = 0x038, /* U85 */
    NPU_REGIONCFG = 0x03C,
    NPU_AXI_LIMIT0 = 0x040, /* MEM_ATTR0 on U85; four words */
    NPU_AXI_SRAM = 0x050,   /* U85 */
    NPU_AXI_EXT = 0x054,    /* U85 */
    NPU_BASEP0_LO = 0x080,  /* eight pairs */
    NPU_PMU_U55 = 0x0180,
    NPU_PMU_U85 = 0x1180,
};

/* Offsets within the PMU block. */
enum ethosu_pmu_register {
    PMU_CR = 0x000,
    PMU_CNTENSET = 0x004,
    PMU_CCNTR_LO = 0x020,
    PMU_CCNTR_HI = 0x024,
    PMU_CCNTR_CFG = 0x028,
    PMU_EVCNTR0 = 0x180,
    PMU_EVTYPER0 = 0x200,
};

#define STATUS_STATE_RUNNING (1u << 0)
#define STATUS_IRQ_RAISED (1u << 1)
#define STATUS_BUS (1u << 2)
#define STATUS_RESET (1u << 3)
#define STATUS_PARSE (1u << 4)
#define STATUS_END_REACHED (1u << 5)
#define STATUS_WATCHDOG (1u << 7) /* U55, U65 */
#define STATUS_ECC (1u << 8)
#define STATUS_BRANCH (1u << 9) /* U85 */
#define STATUS_FAULTS (STATUS_BUS | STATUS_PARSE | STATUS_WATCHDOG | STATUS_ECC | STATUS_BRANCH)

#define CMD_RUN (1u << 0)
#define CMD_CLEAR_IRQ (1u << 1)
#define CMD_CLOCK_POWER_Q (3u << 2)

#define RESET_PRIVILEGED_SECURE 1u /* pending_CPL = 1, pending_CSL = 0; PROT must read the same */

#define PMCR_ENABLE (1u << 0)
#define PMCR_RESET_EVENTS (1u << 1)
#define PMCR_RESET_CYCLES (1u << 2)
#define PMU_CYCLE_COUNTER (1u << 31)

#endif
