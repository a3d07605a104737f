/* Armv8.1-M system registers and instructions that the runner uses.
 * Source: Armv8-M Architecture Reference Manual (DDI0553), as named in CMSIS_6 core_cm55.h. */
#ifndef CORSTONE_CORTEXM_H
#define CORSTONE_CORTEXM_H

#include "base.h"

enum {
    SCB_CPUID = 0xE000ED00u,
    SCB_ICSR = 0xE000ED04u,
    SCB_VTOR = 0xE000ED08u,
    SCB_CCR = 0xE000ED14u,
    SCB_SHCSR = 0xE000ED24u,
    SCB_CFSR = 0xE000ED28u,
    SCB_HFSR = 0xE000ED2Cu,
    SCB_DFSR = 0xE000ED30u,
    SCB_MMFAR = 0xE000ED34u,
    SCB_BFAR = 0xE000ED38u,
    SCB_CPACR = 0xE000ED88u,
    SAU_SFSR = 0xE000EDE4u,
    SAU_SFAR = 0xE000EDE8u,
    SYST_CSR = 0xE000E010u,
    SYST_RVR = 0xE000E014u,
    SYST_CVR = 0xE000E018u,
    NVIC_ISER0 = 0xE000E100u,
    NVIC_ICER0 = 0xE000E180u,
    NVIC_ICPR0 = 0xE000E280u,
    NVIC_STIR = 0xE000EF00u,
    PWRMODCTL_CPDLPSTATE = 0xE001E300u,
};

#define ICSR_NMIPENDSET (1u << 31)
#define CCR_UNALIGN_TRP (1u << 3)
#define CCR_DIV_0_TRP (1u << 4)
#define CCR_LOB (1u << 19)
#define SHCSR_MEMFAULTENA (1u << 16)
#define SHCSR_BUSFAULTENA (1u << 17)
#define SHCSR_USGFAULTENA (1u << 18)
#define SHCSR_SECUREFAULTENA (1u << 19)
#define SHCSR_SECUREFAULTPENDED (1u << 20)
#define CPACR_CP10_CP11 (0xFu << 20)

static inline uint32_t reg_read(uint32_t address)
{
    return *(volatile uint32_t *)(uintptr_t)address;
}

static inline void reg_write(uint32_t address, uint32_t value)
{
    *(volatile uint32_t *)(uintptr_t)address = value;
}

static inline void barrier(void)
{
    __asm volatile("dsb\n\tisb" ::: "memory");
}

#endif
