"""The command line's syntax and the parameters' values."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from corstone.emulator.cli import choose
from corstone.emulator.options import DataFile, parse
from corstone.emulator.parameters import Parameters, listing, rows
from corstone.emulator.platforms import PLATFORMS
from corstone.errors import ConfigError, HarnessError


@pytest.mark.parametrize(
    "words",
    [
        ["-a", "x.elf"],
        ["--application", "x.elf"],
        ["--application=x.elf"],
        ["-a", "cpu0=x.elf"],
        ["-a", "cpu0*=x.elf"],
        ["-a", "mps4_board.subsystem.cpu0=x.elf"],
        ["-ax.elf"],
        ["x.elf"],
    ],
)
def test_applications(words: list[str]) -> None:
    assert parse(words).applications == [Path("x.elf")]


def test_paths_may_hold_signs() -> None:
    assert parse(["-a", "dir=1/x.elf"]).applications == [Path("dir=1/x.elf")]
    assert parse(["--data", "a@b/c.bin@0x10"]).data == [DataFile(Path("a@b/c.bin"), 16)]
    assert parse(["--data", "cpu0=c.bin@16"]).data == [DataFile(Path("c.bin"), 16)]
    assert parse(["--dump", "a@b,c@0x10,4"]).dumps == [DataFile(Path("a@b,c"), 16, 4)]


def test_settings_and_limits() -> None:
    options = parse(
        ["-C", "a.b=c=d", "-Ce.f=1", "--parameter", "g=", "--timelimit=2.5", "--cyclelimit", "0x10", "--stat"]
    )
    assert options.settings == [("a.b", "c=d"), ("e.f", "1"), ("g", "")]
    assert (options.timelimit_s, options.cyclelimit, options.stat) == (2.5, 16, True)


def test_config_files_come_before_settings(tmp_path: Path) -> None:
    first, second = tmp_path / "1", tmp_path / "2"
    first.write_text("a=1 # one\n# all\n\nb='x # y'\n")
    second.write_text("a=2\n")
    options = parse(["-C", "a=3", "-f", str(first), "-f", str(second), "-C", "c=4"])
    assert options.settings == [("a", "1"), ("b", "'x # y'"), ("a", "2"), ("a", "3"), ("c", "4")]
    first.write_text("novalue\n")
    with pytest.raises(ConfigError, match=r"1:1: expected INSTANCE\.PARAMETER=VALUE"):
        parse(["-f", str(first)])


def test_a_home_nobody_has_is_a_path_like_any_other() -> None:
    assert parse(["~0/runner.elf"]).applications == [Path("~0/runner.elf")]
    assert parse(["~/runner.elf"]).applications == [Path.home() / "runner.elf"]


@given(st.lists(st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=12), max_size=6))
def test_any_words_parse_or_are_refused(words: list[str]) -> None:
    try:
        options = parse(words)
        choose(options, "corstone-emulator")
    except HarnessError as error:
        assert str(error)


_KNOWN = [
    "-a",
    "-C",
    "-f",
    "--data",
    "--dump",
    "--timelimit",
    "--cyclelimit",
    "--board",
    "--fvp",
    "-o",
    "--trace",
    "-q",
]
_VALUES = st.sampled_from(
    ["", "a", "a=", "=b", "a@1", "a@0x", "a@1,2", "1e999", "nan", "-1", "0x", "corstone-300", "@"]
)


@given(st.lists(st.one_of(st.sampled_from(_KNOWN), _VALUES), max_size=8))
def test_known_words_in_any_order(words: list[str]) -> None:
    try:
        choose(parse(words), "FVP_Corstone_SSE-320")
    except HarnessError as error:
        assert error.exit_code == 2


def values(board: str, *settings: tuple[str, str]) -> Parameters:
    return Parameters(PLATFORMS[board], settings)


@pytest.mark.parametrize("text", ["'-'", '"-"', "-"])
def test_quotes_are_dropped(text: str) -> None:
    assert values("corstone-300", ("mps3_board.uart0.out_file", text)).board("uart0.out_file") == "-"


def test_types() -> None:
    made = values("corstone-320", ("mps4_board.subsystem.ethosu.num_macs", "0x200"), ("core_clk.mul", " 5 "))
    assert made.cpu("ethosu.num_macs") == 512
    assert made.values["core_clk.mul"] == 5
    assert made.cpu("cpu0.semihosting-enable") is False
    assert values("corstone-300", ("cpu0.semihosting-enable", "TRUE")).cpu("cpu0.semihosting-enable") is True
    with pytest.raises(ConfigError, match=r"within \[0x0\.\.0x800\]"):
        values("corstone-300", ("ethosu.num_macs", "4096"))


@pytest.mark.parametrize("board", PLATFORMS)
def test_every_parameter_survives_its_own_listing(board: str, tmp_path: Path) -> None:
    text = listing(PLATFORMS[board], values(board).values)
    path = tmp_path / "list.txt"
    path.write_text(text)
    again = Parameters(PLATFORMS[board], parse(["-f", str(path)]).settings)
    assert set(again.given) == set(rows(PLATFORMS[board]))
    assert again.values == values(board).values


def test_the_boards_own_settings_are_known() -> None:
    """What the harness sets on a board, the emulator takes."""
    for platform in PLATFORMS.values():
        names = {p.name for p in platform.board.parameters}
        assert names <= set(rows(platform)), names - set(rows(platform))


@pytest.mark.parametrize(
    ("words", "program", "target"),
    [
        ([], "corstone-emulator", "ethos-u55-128"),
        ([], "/bin/FVP_Corstone_SSE-300_Ethos-U55", "ethos-u55-128"),
        ([], "FVP_Corstone_SSE-300_Ethos-U65", "ethos-u65-256"),
        ([], "FVP_Corstone_SSE-320", "ethos-u85-256"),
        (["--fvp", "FVP_Corstone_SSE-300_Ethos-U65", "-C", "ethosu.num_macs=512"], "x", "ethos-u65-512"),
        (["--board", "corstone-320"], "x", "ethos-u85-256"),
        (["-C", "mps4_board.subsystem.ethosu.num_macs=1024"], "x", "ethos-u85-1024"),
        (["-C", "ethosu.num_macs=256"], "x", "ethos-u55-256"),
        (["-C", "ethosu.config=H32"], "x", "ethos-u55-32"),
    ],
)
def test_choice_of_the_board(words: list[str], program: str, target: str) -> None:
    assert choose(parse(words), program).target.name == target
