"""Downloading and installing an FVP, against a local server that behaves as badly as people have seen."""

from __future__ import annotations

import hashlib
import io
import tarfile
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from tests.fakes.fakes import U55

from corstone.boards import fvp_packages
from corstone.boards.fvp_packages import PACKAGES, Package, package
from corstone.boards.install_fvp import AGREEMENT, download, install, main
from corstone.causes import Cause
from corstone.errors import ConfigError, ToolError

PAGE = b"<!DOCTYPE html><html><body>Sorry, please sign in</body></html>".ljust(300)
INSTALLER = f"""#!/bin/sh
agreed=no
while [ $# -gt 0 ]; do
  case $1 in
    --i-agree-to-the-contained-eula) agreed=yes ;;
    --destination) dest=$2; shift ;;
  esac
  shift
done
[ $agreed = yes ] || exit 9
mkdir -p "$dest/models/Linux64_GCC-9.3"
printf '#!/bin/sh\\necho "Fast Models [11.27.42 (today)]"\\n' > "$dest/models/Linux64_GCC-9.3/{U55}"
chmod +x "$dest/models/Linux64_GCC-9.3/{U55}"
"""


def archive(script: str = INSTALLER, name: str = "FVP_Corstone_SSE-300.sh") -> bytes:
    content = io.BytesIO()
    with tarfile.open(fileobj=content, mode="w:gz") as tar:
        for member, data in ((name, script.encode()), ("padding.bin", bytes(range(256)) * 400)):
            info = tarfile.TarInfo(member)
            info.size, info.mode = len(data), 0o755
            tar.addfile(info, io.BytesIO(data))
    return content.getvalue()


@dataclass
class Server:
    """Serves ``content`` in the ways listed, one request after the other; the last way stays."""

    content: bytes
    ways: list[str] = field(default_factory=lambda: ["whole"])
    ranges: list[str] = field(default_factory=list)
    url: str = ""


@pytest.fixture
def server() -> Iterator[Server]:
    state = Server(archive())

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            way = state.ways.pop(0) if len(state.ways) > 1 else state.ways[0]
            asked = self.headers.get("Range", "")
            state.ranges.append(asked)
            start = int(asked[6:-1]) if asked and way != "page" and way != "no-range" else 0
            body = PAGE if way == "page" else state.content[start:]
            if way in {"404", "503"}:
                self.send_error(int(way))
                return
            if start >= len(state.content):
                self.send_error(416)
                return
            self.send_response(206 if start else 200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body[: len(body) // 2] if way == "cut" else body)

        def log_message(self, *args: object) -> None:
            """Quiet."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as httpd:
        state.url = f"http://127.0.0.1:{httpd.server_address[1]}/fvp/"
        threading.Thread(target=httpd.serve_forever, args=(0.02,), daemon=True).start()
        yield state
        httpd.shutdown()


@pytest.fixture
def wanted(server: Server) -> Package:
    return replace(PACKAGES[0], algorithm="sha256", digest=hashlib.sha256(server.content).hexdigest())


@pytest.fixture
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CORSTONE_CACHE", str(tmp_path / "cache"))


Fetch = Callable[[], Path]


@pytest.fixture
def fetch(server: Server, wanted: Package, tmp_path: Path) -> Fetch:
    return lambda: download(wanted, tmp_path / "cache", server.url, lambda _: None, pause_s=0)


def test_it_resumes_after_two_aborts(server: Server, fetch: Fetch) -> None:
    server.ways = ["cut", "cut", "whole"]
    path = fetch()
    assert path.read_bytes() == server.content
    half = len(server.content) // 2
    assert server.ranges[:2] == ["", f"bytes={half}-"]
    assert len(server.ranges) == 3
    assert not path.with_name(path.name + ".part").exists()


def test_a_second_call_downloads_nothing(server: Server, fetch: Fetch) -> None:
    fetch()
    fetch()
    assert len(server.ranges) == 1


def test_a_server_that_cannot_resume(server: Server, fetch: Fetch) -> None:
    server.ways = ["cut", "no-range"]
    assert fetch().read_bytes() == server.content


def test_a_page_with_status_200_once(server: Server, fetch: Fetch) -> None:
    server.ways = ["page", "whole"]
    assert fetch().read_bytes() == server.content


def test_a_page_with_status_200_always(server: Server, fetch: Fetch, tmp_path: Path) -> None:
    server.ways = ["page"]
    with pytest.raises(ToolError, match="web page of 300 bytes") as refused:
        fetch()
    assert refused.value.cause is Cause.DOWNLOAD
    assert list((tmp_path / "cache").iterdir()) == []


def test_a_wrong_hash_is_never_kept(server: Server, fetch: Fetch, tmp_path: Path) -> None:
    server.content = server.content[:-1] + b"!"
    with pytest.raises(ToolError, match="expected") as refused:
        fetch()
    assert refused.value.cause is Cause.DOWNLOAD
    assert list((tmp_path / "cache").iterdir()) == []
    assert len(server.ranges) == 1


def test_a_part_of_another_file_is_given_up(server: Server, fetch: Fetch, tmp_path: Path, wanted: Package) -> None:
    (tmp_path / "cache").mkdir()
    (tmp_path / "cache" / f"{wanted.file_name}.part").write_bytes(bytes(len(server.content) + 5))
    assert fetch().read_bytes() == server.content


@pytest.mark.parametrize(("way", "requests"), [("404", 1), ("503", 5), ("cut", 5)])
def test_a_server_that_never_gives_it(server: Server, fetch: Fetch, way: str, requests: int) -> None:
    server.ways = [way]
    if way == "cut":  # each answer is cut, and there is always more: five times is enough
        server.content = server.content * 40
    with pytest.raises(ToolError) as refused:
        fetch()
    assert len(server.ranges) == requests
    assert "with a browser" in refused.value.hint


def test_no_server_at_all(fetch: Fetch, server: Server, wanted: Package, tmp_path: Path) -> None:
    with pytest.raises(ToolError):
        download(wanted, tmp_path / "cache", "http://127.0.0.1:9/", lambda _: None, pause_s=0)


@pytest.mark.parametrize("value", [None, "", "0", "no"])
def test_without_the_users_agreement_nothing_is_fetched(
    server: Server,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    value: str | None,
) -> None:
    monkeypatch.setenv("CORSTONE_CACHE", str(tmp_path))
    if value is None:
        monkeypatch.delenv(AGREEMENT, raising=False)
    else:
        monkeypatch.setenv(AGREEMENT, value)
    assert main(["corstone-300", "--base-url", server.url]) == 2
    assert AGREEMENT in capsys.readouterr().err
    assert server.ranges == []


@pytest.mark.usefixtures("own_cache")
def test_from_download_to_export(
    server: Server, wanted: Package, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("CORSTONE_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv(AGREEMENT, "True")
    monkeypatch.setattr(
        fvp_packages, "PACKAGES", (replace(wanted, machine="x86_64"), replace(wanted, machine="aarch64"))
    )
    destination = tmp_path / "my fvps"
    assert main(["corstone-300", "--base-url", server.url, "--dest", str(destination)]) == 0
    text = capsys.readouterr().out
    assert f"export CORSTONE_FVP_DIR='{destination}'" in text
    assert "Fast Models [11.27.42]" in text


def test_an_archive_without_installer(wanted: Package, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(AGREEMENT, "1")
    path = tmp_path / "a.tgz"
    path.write_bytes(archive('#!/bin/sh\necho "Fast Models [11.31.28 (today)]"\n', f"models/{U55}"))
    assert install(path, wanted, tmp_path / "dest", lambda _: None) == tmp_path / "dest"
    assert (tmp_path / "dest" / "models" / U55).is_file()


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"no archive", "cannot be unpacked"),
        (archive("#!/bin/sh\necho no space >&2\nexit 3\n"), "status 3: no space"),
        (archive("#!/bin/sh\nexit 0\n"), "nothing called"),
        (archive("x", "../../outside.sh"), "cannot be unpacked"),
    ],
    ids=["damaged", "installer-fails", "installs-nothing", "escapes"],
)
def test_an_installation_that_fails(
    wanted: Package, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, content: bytes, words: str
) -> None:
    monkeypatch.setenv(AGREEMENT, "True")
    monkeypatch.setenv("PATH", "/usr/bin:/bin")
    path = tmp_path / "a.tgz"
    path.write_bytes(content)
    with pytest.raises(ToolError, match=words):
        install(path, wanted, tmp_path / "deep" / "dest", lambda _: None)
    assert not (tmp_path / "outside.sh").exists()


def test_packages_by_board_version_and_machine() -> None:
    assert package("corstone-320", system="Linux", machine="aarch64").file_name.endswith("_armv8l.tgz")
    assert package("corstone-300", "11.24.13", "Linux", "x86_64").algorithm == "sha256"
    with pytest.raises(ConfigError) as unknown:
        package("corstone-300", "10.0", "Linux", "x86_64")
    assert "11.27_42" in unknown.value.hint
    with pytest.raises(ConfigError, match="Darwin") as mac:
        package("corstone-300", "", "Darwin", "arm64")
    assert "FVPs-on-Mac" in mac.value.hint


def test_digests_are_well_formed() -> None:
    lengths = {"md5": 32, "sha256": 64}
    assert all(len(row.digest) == lengths[row.algorithm] for row in PACKAGES)
    assert len({row.path for row in PACKAGES}) == len(PACKAGES)
    assert fvp_packages.BASE_URL.startswith("https://")
