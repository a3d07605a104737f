"""A gated recurrent unit, its steps written out: sigmoid, tanh and products over a state. Needs torch."""

from __future__ import annotations

import torch
from torch import nn

from corstone_models.gallery.seeded import seeded, uniform

STEPS, INPUTS, STATE = 8, 16, 32


class Gru(nn.Module):
    """``x``: float32 [1, 8, 16], a step a row; ``state``: float32 [1, 32]; returns the state after the last step."""

    def __init__(self) -> None:
        super().__init__()
        self.update, self.reset = nn.Linear(INPUTS + STATE, STATE), nn.Linear(INPUTS + STATE, STATE)
        self.candidate = nn.Linear(INPUTS + STATE, STATE)

    def forward(self, x: torch.Tensor, state: torch.Tensor) -> torch.Tensor:
        """Cho et al. 2014: the update gate chooses between the state and a candidate made through the reset gate."""
        for step in range(STEPS):
            both = torch.cat([x[:, step], state], dim=1)
            update, reset = torch.sigmoid(self.update(both)), torch.sigmoid(self.reset(both))
            candidate = torch.tanh(self.candidate(torch.cat([x[:, step], reset * state], dim=1)))
            state = state + update * (candidate - state)
        return state


def recurrent() -> nn.Module:
    """The unit with seeded weights."""
    return seeded(Gru)


def example_inputs() -> tuple[torch.Tensor, ...]:
    """One input: it fixes the shapes."""
    return uniform(1, STEPS, INPUTS, seed=1), uniform(1, STATE, seed=2)


def calibration_inputs() -> list[tuple[torch.Tensor, ...]]:
    """256 sequences, each with a state of its own; 16 leave ranges that others exceed, by 44 output steps at int8."""
    return [(uniform(1, STEPS, INPUTS, seed=100 + n), uniform(1, STATE, seed=1000 + n)) for n in range(256)]
