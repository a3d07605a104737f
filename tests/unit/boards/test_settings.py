"""Parameter rows become arguments for one version of a simulator."""

from __future__ import annotations

import pytest

from corstone.boards.board import Parameter
from corstone.boards.registry import board
from corstone.boards.settings import applies, settings, version_key
from corstone.errors import ConfigError


def _macs(version: str) -> tuple[str, ...]:
    return settings(board("corstone-300"), version, ["macs"], {"macs": 128})


def test_the_number_of_macs_was_renamed_in_11_13() -> None:
    assert _macs("11.12.57") == ("-C", "ethosu.config=H128")
    assert _macs("11.13.41") == ("-C", "ethosu.num_macs=128")
    assert _macs("11.27_42") == ("-C", "ethosu.num_macs=128")


def test_an_unknown_version_gets_the_newest_names() -> None:
    assert _macs("") == ("-C", "ethosu.num_macs=128")


@pytest.mark.parametrize(
    ("version", "since", "until", "known"),
    [
        ("11.12.57", "11.13", "", False),
        ("11.13", "11.13", "", True),
        ("11.13.0", "11.13", "", True),
        ("11.9.1", "11.13", "", False),
        ("11.12.99", "", "11.12", True),
        ("11.13.0", "", "11.12", False),
        ("12", "11.13", "", True),
        ("11.27.42", "11.22.20", "11.27.42", True),
        ("11.27.43", "", "11.27.42", False),
    ],
)
def test_version_ranges_include_both_ends(version: str, since: str, until: str, known: bool) -> None:
    assert applies(Parameter("r", "n", "v", "s", since=since, until=until), version) is known


def test_numbers_of_a_version() -> None:
    assert version_key("11.27_42") == version_key("11.27.42") == (11, 27, 42)
    assert version_key("unknown") == ()


def test_a_role_may_have_several_parameters() -> None:
    arguments = settings(board("corstone-320"), "11.27.25", ["display-off"], {})
    assert arguments[1::2] == (
        "mps4_board.visualisation.disable-visualisation=1",
        "vis_hdlcd.disable_visualisation=1",
    )


def test_values_with_blanks_and_quotes_stay_one_argument() -> None:
    arguments = settings(board("corstone-300"), "", ["semihosting-cwd"], {"cwd": '/a b/it\'s "c"/{x}'})
    assert arguments == ("-C", 'cpu0.semihosting-cwd=/a b/it\'s "c"/{x}')


def test_a_role_that_no_row_serves_is_the_boards_fault() -> None:
    with pytest.raises(ConfigError, match="no-such-role"):
        settings(board("corstone-300"), "11.27", ["macs", "no-such-role"], {"macs": 1})
