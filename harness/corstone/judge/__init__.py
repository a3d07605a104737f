"""The judge: device outputs against references, and what follows from it."""
