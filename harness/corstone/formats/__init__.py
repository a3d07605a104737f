"""Readers of the file formats on the way: PTE, Vela's binary stream, ELF. Each checks what it reads."""
