"""The ELFs: same bytes wherever they are built, where the boards want them, and inside their memories."""

from __future__ import annotations

import hashlib
import shutil
from pathlib import Path

import pytest
from elftools.elf.elffile import ELFFile

from corstone.errors import ConfigError, StageError
from corstone.firmware.build import BOARDS, ROOT, build, main

pytest.importorskip("ziglang", reason="ziglang builds the runner")

VECTORS = {"corstone-300": 0x10000000, "corstone-320": 0x11000000}
CODE_SIZE = {"corstone-300": 512 << 10, "corstone-320": 128 << 10}
DATA_SIZE = {"corstone-300": 128 << 10, "corstone-320": 32 << 10}


def symbols(path: Path) -> dict[str, int]:
    with path.open("rb") as stream:
        table = ELFFile(stream).get_section_by_name(".symtab")
        return {symbol.name: symbol["st_value"] for symbol in table.iter_symbols()}


def check_layout(path: Path, board: str) -> None:
    with path.open("rb") as stream:
        elf = ELFFile(stream)
        loads = [s for s in elf.iter_segments() if s["p_type"] == "PT_LOAD"]
        for segment in loads:
            if segment["p_filesz"]:
                # What is loaded goes to code memory, also the initial values of .data.
                assert VECTORS[board] <= segment["p_paddr"]
                assert segment["p_paddr"] + segment["p_filesz"] <= VECTORS[board] + CODE_SIZE[board]
        vectors = elf.get_section_by_name(".vectors")
        names = symbols(path)
        assert vectors["sh_addr"] == VECTORS[board]
        words = vectors.data()
        assert int.from_bytes(words[:4], "little") == names["__stack_top"]
        assert int.from_bytes(words[4:8], "little") == names["Reset"] | 1
    assert 0x30000000 <= names["__bss_start"] < names["__stack_top"] <= 0x30000000 + DATA_SIZE[board]
    assert names["__stack_top"] - names["__stack_limit"] >= 8 << 10
    # Pools for big programs: at least the 80 MiB that ExecuTorch's test runners have.
    assert names["__pool_end"] - names["__pool_start"] >= 80 << 20
    assert names["__program_end"] - names["__program_start"] >= 80 << 20


@pytest.mark.parametrize("board", sorted(BOARDS))
def test_zig_elf_is_where_the_board_starts(board: str) -> None:
    check_layout(build(board), board)


def test_gcc_builds_the_same_sources() -> None:
    if shutil.which("arm-none-eabi-gcc") is None:
        pytest.skip("arm-none-eabi-gcc is not installed")
    check_layout(build("corstone-320", compiler="gcc"), "corstone-320")


def test_bytes_do_not_depend_on_the_folder(tmp_path: Path) -> None:
    hashes = []
    for name in ("one", "a second folder/deeper"):
        root = tmp_path / name / "firmware"
        shutil.copytree(ROOT, root, ignore=shutil.ignore_patterns("__pycache__"))
        path = build("corstone-300", cache=tmp_path / name / "cache", root=root)
        hashes.append(hashlib.sha256(path.read_bytes()).hexdigest())
    assert hashes[0] == hashes[1] == hashlib.sha256(build("corstone-300").read_bytes()).hexdigest()
    assert str(tmp_path).encode() not in path.read_bytes()


def test_a_changed_source_is_another_elf_and_an_error_is_shown(tmp_path: Path) -> None:
    root = tmp_path / "firmware"
    shutil.copytree(ROOT, root, ignore=shutil.ignore_patterns("__pycache__"))
    with (root / "src" / "crash.c").open("w") as stream:
        stream.write("int unused_result(void) { return undeclared; }\n")
    with pytest.raises(StageError) as raised:
        build("corstone-300", cache=tmp_path / "cache", root=root)
    assert "undeclared" in str(raised.value)
    assert not list((tmp_path / "cache").rglob("*.elf"))


def test_the_cache_is_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    path = build("corstone-320")
    before = path.stat().st_mtime_ns
    assert build("corstone-320") == path
    assert path.stat().st_mtime_ns == before
    assert main(["corstone-320", "--output", str(tmp_path)]) == 0
    assert (tmp_path / "corstone-320.elf").read_bytes() == path.read_bytes()
    assert hashlib.sha256(path.read_bytes()).hexdigest() in capsys.readouterr().out


def test_unknown_names_are_refused() -> None:
    with pytest.raises(ConfigError, match="corstone-999"):
        build("corstone-999")
    with pytest.raises(ConfigError, match="tcc"):
        build("corstone-300", compiler="tcc")


def test_mm_alone_fuses_multiply_and_add_and_no_float_is_vectorised() -> None:
    """No VFMA but in mm, as in Arm's image (VMLA rounds twice, as C does); no MVE float, which flushes denormals."""
    capstone = pytest.importorskip("capstone")
    for compiler in ("zig", "gcc"):
        if compiler == "gcc" and shutil.which("arm-none-eabi-gcc") is None:
            continue
        with build("corstone-320", compiler=compiler).open("rb") as stream:
            elf = ELFFile(stream)
            text = elf.get_section_by_name(".text")
            data, address = text.data(), text["sh_addr"]
            (mm,) = elf.get_section_by_name(".symtab").get_symbol_by_name("kernel_mm")
            inside = range(mm["st_value"] & ~1, (mm["st_value"] & ~1) + mm["st_size"])
        decoder = capstone.Cs(
            capstone.CS_ARCH_ARM, capstone.CS_MODE_THUMB | capstone.CS_MODE_MCLASS | capstone.CS_MODE_V8
        )
        decoder.skipdata = True
        found = list(decoder.disasm(data, address))
        assert "vmul.f32" in {instruction.mnemonic for instruction in found}
        fused = [i.address for i in found if i.mnemonic.startswith(("vfma", "vfms", "vfnma", "vfnms"))]
        assert fused
        assert all(place in inside for place in fused)
        for instruction in found:
            if instruction.mnemonic in ("vmul.f32", "vadd.f32", "vsub.f32"):
                assert not instruction.op_str.startswith("q"), f"{instruction.mnemonic} {instruction.op_str}"


@pytest.mark.parametrize("board", sorted(BOARDS))
def test_there_is_no_heap(board: str) -> None:
    names = symbols(build(board)).keys()
    assert "main" in names or "Reset" in names
    assert not names & {"malloc", "calloc", "realloc", "free", "sbrk", "_sbrk", "__heap_start", "_malloc_r"}


def test_boards_differ_in_one_header_and_a_linker_script_each() -> None:
    assert {path.stem for path in (ROOT / "ld").glob("*.ld")} == set(BOARDS)
    sources = [path for path in ROOT.rglob("*.[ch]") if path.name != "board.h"]
    assert len(sources) > 20
    for path in sources:
        text = path.read_text().lower().replace("_", "-")
        assert not [name for name in BOARDS if name in text], path.name
