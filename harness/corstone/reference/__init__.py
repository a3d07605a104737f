"""Expected outputs: ``table`` and ``tosa`` in the integer domain, ``float`` and ``fake-quantized`` as real values.

``references`` answers for a whole program, CPU kernels included; ``answers`` also keeps what went into and out of each
delegate. Importing this imports no torch.
"""

from corstone.reference.answers import Answer, answers, references
from corstone.reference.domains import domain_findings, operators_of

__all__ = ["Answer", "answers", "domain_findings", "operators_of", "references"]
