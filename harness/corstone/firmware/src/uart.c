/* CMSDK APB UART; see uart.h. */
#include "uart.h"

#include "board.h"
#include "cortexm.h"

enum { UART_DATA = 0x00, UART_STATE = 0x04, UART_CTRL = 0x08, UART_BAUDDIV = 0x10 };
enum { STATE_TX_FULL = 1u << 0, CTRL_TX_ENABLE = 1u << 0, UART_POLLS = 1000000 };

void uart_start(void)
{
    /* The divider must be at least 16; no receiver counts bits here, so the fastest rate is as good as any. */
    reg_write(BOARD_UART0 + UART_BAUDDIV, 16);
    reg_write(BOARD_UART0 + UART_CTRL, CTRL_TX_ENABLE);
}

bool uart_put(uint8_t byte)
{
    for (uint32_t polls = 0; polls < UART_POLLS; polls++) {
        if ((reg_read(BOARD_UART0 + UART_STATE) & STATE_TX_FULL) == 0) {
            reg_write(BOARD_UART0 + UART_DATA, byte);
            return true;
        }
    }
    return false;
}
