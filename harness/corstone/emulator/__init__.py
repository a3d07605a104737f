"""The emulator: a Corstone board around QEMU and functional device models, behind the FVP's command line."""
