/* CMSDK APB UART, transmit only. Source: Arm Cortex-M System Design Kit TRM (DDI0479), chapter APB UART. */
#ifndef CORSTONE_UART_H
#define CORSTONE_UART_H

#include "base.h"

void uart_start(void);
/* False when the transmitter stayed full for UART_POLLS reads of STATE. */
bool uart_put(uint8_t byte);

#endif
