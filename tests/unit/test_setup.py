"""Runner images out of wheels: from the cache, from a wheel put there by hand, from an index, and not at all."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
import zipfile
from dataclasses import replace
from pathlib import Path

import pytest

from corstone.causes import Cause
from corstone.errors import ConfigError, ToolError
from corstone.paths import cache_dir
from corstone.runners import RUNNERS, FileImage, Runner, WheelImage, runner
from corstone.setup import SetUp, image_path, setup

CONTENT = b"\x7fELF a runner"
MEMBER = "pack/images/runner.axf"
NAME = "corstone_test_images-1.0-py3-none-any.whl"


def make_wheel(folder: Path, content: bytes = CONTENT) -> Path:
    """A wheel as pip wants it, with one image; reproducible, so that its hash can be stated."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / NAME
    info = "corstone_test_images-1.0.dist-info"
    files = {
        MEMBER: content,
        f"{info}/METADATA": b"Metadata-Version: 2.1\nName: corstone-test-images\nVersion: 1.0\n"
        b"Requires-Dist: nothing-real\n",
        f"{info}/WHEEL": b"Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        f"{info}/RECORD": b"",
    }
    with zipfile.ZipFile(path, "w") as archive:
        for name, data in files.items():
            archive.writestr(zipfile.ZipInfo(name, (2020, 1, 1, 0, 0, 0)), data)
    return path


@pytest.fixture
def image(tmp_path: Path) -> Runner:
    wheel = make_wheel(tmp_path / "index")
    return replace(
        runner("arm-executorch-u55"),
        image=WheelImage(
            "corstone-test-images",
            "1.0",
            hashlib.sha256(wheel.read_bytes()).hexdigest(),
            MEMBER,
            hashlib.sha256(CONTENT).hexdigest(),
        ),
    )


@pytest.fixture
def offline(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.delenv("PIP_FIND_LINKS", raising=False)


@pytest.mark.usefixtures("offline")
def test_no_network_and_no_cache_says_what_to_do(tmp_path: Path, image: Runner) -> None:
    with pytest.raises(ToolError) as refused:
        image_path(image, tmp_path / "cache")
    assert refused.value.cause is Cause.DOWNLOAD
    assert refused.value.exit_code == 3
    assert "pip download --no-deps corstone-test-images==1.0" in refused.value.hint
    assert str(tmp_path / "cache" / "wheels") in refused.value.hint
    assert list((tmp_path / "cache" / "runners").rglob("*.axf")) == []


@pytest.mark.usefixtures("offline")
def test_from_an_index_then_off_line(tmp_path: Path, image: Runner, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path / "index"))
    path = image_path(image, tmp_path / "cache")
    assert path.read_bytes() == CONTENT
    monkeypatch.delenv("PIP_FIND_LINKS")
    assert image_path(image, tmp_path / "cache") == path
    assert image_path(image, tmp_path / "cache", fetch=False) == path
    left = [p for p in (tmp_path / "cache").rglob("*") if p.is_file()]
    assert left == [path]


@pytest.mark.usefixtures("offline")
def test_from_a_wheel_put_into_the_cache_by_hand(tmp_path: Path, image: Runner) -> None:
    make_wheel(tmp_path / "cache" / "wheels")
    assert image_path(image, tmp_path / "cache", fetch=False).read_bytes() == CONTENT


@pytest.mark.usefixtures("offline")
def test_a_damaged_image_is_found_by_its_hash_and_replaced(tmp_path: Path, image: Runner) -> None:
    make_wheel(tmp_path / "cache" / "wheels")
    path = image_path(image, tmp_path / "cache")
    path.write_bytes(CONTENT[:-1] + b"X")
    assert image_path(image, tmp_path / "cache").read_bytes() == CONTENT


@pytest.mark.usefixtures("offline")
def test_a_wheel_with_another_hash_is_refused(tmp_path: Path, image: Runner, monkeypatch: pytest.MonkeyPatch) -> None:
    make_wheel(tmp_path / "index", b"something else")
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path / "index"))
    with pytest.raises(ToolError, match="sha256") as refused:
        image_path(image, tmp_path / "cache")
    assert refused.value.cause is Cause.DOWNLOAD


@pytest.mark.usefixtures("offline")
def test_a_wheel_without_the_image_is_refused(tmp_path: Path, image: Runner) -> None:
    make_wheel(tmp_path / "cache" / "wheels")
    assert isinstance(image.image, WheelImage)
    other = replace(image, image=replace(image.image, member="pack/none.axf"))
    with pytest.raises(ToolError, match="damaged"):
        image_path(other, tmp_path / "cache")


def test_a_cache_that_cannot_be_made(tmp_path: Path, image: Runner) -> None:
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(ToolError, match="cannot be made") as refused:
        image_path(image, tmp_path / "file" / "cache")
    assert "CORSTONE_CACHE" in refused.value.hint


def test_an_elf_of_the_users_is_taken_as_it_is(tmp_path: Path, image: Runner) -> None:
    path = tmp_path / "mine.elf"
    with pytest.raises(ConfigError):
        image_path(replace(image, image=FileImage(path)))
    path.write_bytes(b"\x7fELF")
    assert image_path(replace(image, image=FileImage(path))) == path


def test_the_cache_can_be_moved(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CORSTONE_CACHE", str(tmp_path / "with blank"))
    assert cache_dir() == tmp_path / "with blank"
    monkeypatch.setenv("CORSTONE_CACHE", "~/x")
    assert cache_dir() == Path.home() / "x"


@pytest.mark.usefixtures("offline")
def test_setup_goes_on_after_a_failure_and_tells_all(tmp_path: Path) -> None:
    said: list[str] = []
    done = setup(tmp_path / "cache", said.append)
    assert {f.cause for f in done.failures} >= {Cause.DOWNLOAD}
    assert list(done.seconds) == ["runner images", "firmware"]
    assert any("arm-executorch-u55" in line for line in said)
    assert any("arm-executorch-u85" in line for line in said)


def test_the_seconds_of_a_part_are_summed_and_no_time_is_not_told() -> None:
    done = SetUp(seconds={"firmware": 2.0, "runner images": 0.04})
    said: list[str] = []
    done.attempt("firmware", "corstone-300", lambda: "an elf", said.append)
    assert said == ["corstone-300: an elf"]
    assert done.seconds["firmware"] > 2.0
    assert done.times() == "firmware 2.0 s"


def test_a_second_checkout_fetches_nothing_that_the_first_has_fetched(tmp_path: Path) -> None:
    """The command, as scripts/run calls it, with the cache that the first has filled and no way to any index."""
    for runner_ in RUNNERS:
        if isinstance(runner_.image, WheelImage):
            image_path(runner_)
    nowhere = {"PIP_NO_INDEX": "1", "https_proxy": "http://127.0.0.1:9", "http_proxy": "http://127.0.0.1:9"}
    command = [sys.executable, "-m", "corstone.cli", "setup", "--quiet"]
    env = {**os.environ, **nowhere}
    done = subprocess.run(command, cwd=tmp_path, env=env, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    empty = {**env, "CORSTONE_CACHE": str(tmp_path / "empty")}
    without = subprocess.run(command, cwd=tmp_path, env=empty, capture_output=True, text=True, timeout=120, check=False)
    assert without.returncode == 3
    assert "cannot be had" in without.stderr
