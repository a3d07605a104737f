/* The boards, as numbers. All else that differs between them is in their linker scripts.
 *
 * Secure aliases throughout: the runner stays secure and privileged, so neither SAU, MPC nor PPC needs programming.
 * Sources: TF-M platform_base_address.h and platform_irq.h of corstone300 and corstone320; ml-embedded-evaluation-kit
 * mem_regions.h and peripheral_memmap.h.
 */
#ifndef CORSTONE_BOARD_H
#define CORSTONE_BOARD_H

#if defined(BOARD_CORSTONE_300)
#define BOARD_NAME "corstone-300"
#define BOARD_UART0 0x59303000u
#define BOARD_NPU 0x58102000u
#define BOARD_NPU_IRQ 56u
#define BOARD_CLOCK_HZ 25000000u
#define BOARD_CONSOLE CONSOLE_UART
#elif defined(BOARD_CORSTONE_320)
#define BOARD_NAME "corstone-320"
#define BOARD_UART0 0x58203000u
#define BOARD_NPU 0x50004000u
#define BOARD_NPU_IRQ 16u
#define BOARD_CLOCK_HZ 25000000u
/* Its UART is slow on an emulator that traps every access; with semihosting the log goes there, to the same stream. */
#define BOARD_CONSOLE CONSOLE_SEMIHOSTING
#else
#error "name a board: -DBOARD_CORSTONE_300 or -DBOARD_CORSTONE_320"
#endif

/* Where the memory transport looks, as Arm's own runner does: program, inputs, outputs. */
#define BOARD_PROGRAM 0x90000000u
#define BOARD_PROGRAM_SIZE 0x02000000u
#define BOARD_INPUTS 0x92000000u
#define BOARD_INPUTS_SIZE 0x01000000u
#define BOARD_OUTPUTS 0x93000000u
#define BOARD_OUTPUTS_SIZE 0x01000000u

#endif
