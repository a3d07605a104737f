"""A gated recurrent unit, its steps written out: sigmoid, tanh and products over a state. Needs torch."""

from __future__ import annotations

import torch
from torch import nn

from corstone_models.gallery.seeded import corners, seeded, uniform, unseen

INPUTS, STATE = 16, 32
STEPS, SHORT = 8, 2


class Gru(nn.Module):
    """``x``: float32 [1, steps, 16], a step a row; ``state``: float32 [1, 32]; returns the last state."""

    def __init__(self, steps: int) -> None:
        super().__init__()
        self.steps = steps
        self.update, self.reset = nn.Linear(INPUTS + STATE, STATE), nn.Linear(INPUTS + STATE, STATE)
        self.candidate = nn.Linear(INPUTS + STATE, STATE)

    def forward(self, x: torch.Tensor, state: torch.Tensor) -> torch.Tensor:
        """Cho et al. 2014: the update gate chooses between the state and a candidate made through the reset gate."""
        for step in range(self.steps):
            both = torch.cat([x[:, step], state], dim=1)
            update, reset = torch.sigmoid(self.update(both)), torch.sigmoid(self.reset(both))
            candidate = torch.tanh(self.candidate(torch.cat([x[:, step], reset * state], dim=1)))
            state = state + update * (candidate - state)
        return state


def _over(steps: int) -> nn.Module:
    network = seeded(lambda: Gru(steps))
    network.example_inputs = lambda: (uniform(1, steps, INPUTS, seed=1), uniform(1, STATE, seed=2))
    network.calibration_inputs = lambda: _calibration(steps)
    network.unseen_inputs = lambda draw, count: unseen(draw, (1, steps, INPUTS), (1, STATE), count=count)
    return network


def recurrent() -> nn.Module:
    """The unit with seeded weights, over 8 steps."""
    return _over(STEPS)


def recurrent_short() -> nn.Module:
    """The same unit over 2 steps, which compiles in a fraction of the time."""
    return _over(SHORT)


def _calibration(steps: int) -> list[tuple[torch.Tensor, ...]]:
    """32 sequences, each with a state of its own, and 64 at the range's ends, beyond which gates and state do not go.

    Without the ends, 256 sequences left ranges that others exceeded, by 17 output steps at int8 and 2,105 at int16.
    """
    inside = [(uniform(1, steps, INPUTS, seed=100 + n), uniform(1, STATE, seed=1000 + n)) for n in range(32)]
    both = corners(1, steps * INPUTS + STATE, count=64)
    return inside + [(x[:, :-STATE].reshape(1, steps, INPUTS), x[:, -STATE:]) for (x,) in both]
