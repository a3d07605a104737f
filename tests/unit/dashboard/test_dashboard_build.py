"""The site as files: every link leads somewhere, nothing is asked from a network, hostile text stays text."""

from __future__ import annotations

import json
import re
from html.parser import HTMLParser
from pathlib import Path

import pytest
from tests.unit.dashboard import synthetic

from corstone.causes import Cause, Outcome
from corstone.cli import main
from corstone.dashboard.build import build
from corstone.dashboard.text import esc, joints, slug, visible
from corstone.errors import ConfigError
from corstone.judge.verdict import Verdict
from corstone.ledger import open_ledger
from corstone.ledger.writer import Identity
from corstone.report.record import CaseRecord

HOSTILE = "<script>alert(1)</script>\x1b[31m\x00\u202e'\"><img src=x onerror=alert(1)>"


class Page(HTMLParser):
    """Links, sources and tags of a page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.links: list[str] = []
        self.tags: list[str] = []
        self.ids: list[str] = []
        self.handlers: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        for name, value in attrs:
            if name in {"href", "src"} and value:
                self.links.append(value)
            if name == "id" and value:
                self.ids.append(value)
            if name.startswith("on"):
                self.handlers.append(name)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    top = tmp_path_factory.mktemp("site")
    synthetic.fill(top / "h", nights=40, cells=4, cases=120)
    with open_ledger(top / "h" / "ledgers", Identity("hostile", HOSTILE), properties={HOSTILE: HOSTILE}) as book:
        book.collected([f"t.py::test[{HOSTILE}]"])
        book.started(f"t.py::test[{HOSTILE}]")
        book.finished(
            f"t.py::test[{HOSTILE}]", Outcome.CRASHED, Cause.CPU_FAULT, reason=HOSTILE, text=HOSTILE, out=HOSTILE
        )
    build(top / "h", top / "site")
    return top / "site"


def test_every_link_of_every_page_leads_to_a_page_that_is_there(site: Path) -> None:
    pages = {p: Page(p.read_text()) for p in site.rglob("*.html")}
    assert len(pages) > 120
    for path, page in pages.items():
        for link in page.links:
            if link.startswith(("data:", "#")):
                continue
            assert "://" not in link, f"{path} asks a network for {link}"
            name, _, anchor = link.partition("#")
            target = (path.parent / name).resolve()
            assert target.exists(), f"{path}: {link}"
            if anchor and "=" not in anchor:
                assert anchor in pages[target].ids, f"{path}: {link}"


def test_hostile_text_makes_no_element_and_no_handler(site: Path) -> None:
    shown = 0
    for path in site.rglob("*.html"):
        text = path.read_text()
        page = Page(text)
        assert "img" not in page.tags
        assert not page.handlers
        assert "\x1b" not in text
        assert "\u202e" not in text
        shown += "&lt;script&gt;alert(1)" in text
    assert shown >= 4


def test_what_moved_is_named_with_the_version_that_changed(site: Path) -> None:
    drift = (site / "drift.html").read_text()
    assert "vela 5.0.0 -&gt; 5.1.0" in drift
    assert "worst error" in drift
    changes = (site / "changes.html").read_text()
    assert "never green in this history" in changes


def test_a_red_cell_is_held_against_its_last_green_night_with_the_versions_beside(tmp_path: Path) -> None:
    nights = [
        ("5.0.0", Outcome.PASSED),
        ("5.0.0", Outcome.PASSED),
        ("5.1.0", Outcome.FAILED),
        ("5.1.0", Outcome.FAILED),
    ]
    for n, (vela, outcome) in enumerate(nights):
        for cell in ("u55", "u85"):
            got = outcome if cell == "u55" else Outcome.PASSED
            verdict = Verdict(got, Cause.NONE if got is Outcome.PASSED else Cause.BITS, "why")
            versions = {"vela": vela, "torch": "2.13.0"}
            record = CaseRecord(
                "c", "acos", 8, "fixed", "ethos-u55-128", "corstone-300", "codes", verdict, versions=versions
            )
            with open_ledger(tmp_path / "h" / "ledgers", Identity(f"night-{n}", cell)) as book:
                book.collected(["t.py::test_a"])
                book.started("t.py::test_a")
                book.finished("t.py::test_a", got, verdict.cause, reason="why", records=[record])
    build(tmp_path / "h", tmp_path / "site")
    changes = (tmp_path / "site" / "changes.html").read_text()
    said = " ".join(
        re.sub("<[^>]*>", " ", changes.partition("<h1>Since the last green")[2].replace("<wbr>", "")).split()
    )
    assert "vela 5.0.0 -&gt; 5.1.0" in said
    assert "torch" not in said, "what did not change is not beside it"
    assert "u85" not in said, "a green cell is no news"
    linked = re.search('last green <a href="(nights/[^"]+)"', changes)
    assert linked is not None
    pages = {f"nights/{p.name}": p.read_text() for p in (tmp_path / "site" / "nights").glob("*.html")}
    assert len(pages) == 4
    red = {name for name, text in pages.items() if "that did not pass" in text}
    assert len(red) == 2
    assert linked[1] in set(pages) - red, "the last green night can be opened"
    assert "t.py::test_a bits red since" in said
    first = (tmp_path / "site" / "index.html").read_text()
    assert "vela 5.0.0 -&gt; 5.1.0" in first, "the first page says it as well"


def test_the_badge_says_what_the_newest_night_is(site: Path) -> None:
    data = json.loads((site / "badge.json").read_text())
    assert data["schemaVersion"] == 1
    assert data["message"] == "1 red of 1"
    assert "1 red of 1" in (site / "badge.svg").read_text()


def test_a_folder_with_something_else_in_it_is_not_deleted(tmp_path: Path) -> None:
    synthetic.fill(tmp_path / "h", nights=1, cells=1, cases=1)
    target = tmp_path / "mine"
    target.mkdir()
    (target / "thesis.txt").write_text("years of work")
    with pytest.raises(ConfigError, match="no dashboard"):
        build(tmp_path / "h", target)
    assert (target / "thesis.txt").exists()


def test_building_again_replaces_the_site(tmp_path: Path) -> None:
    synthetic.fill(tmp_path / "h", nights=2, cells=1, cases=2)
    build(tmp_path / "h", tmp_path / "site")
    (tmp_path / "site" / "old.html").write_text("old")
    assert main(["dashboard", "build", str(tmp_path / "h"), "-o", str(tmp_path / "site"), "--nights", "1"]) == 0
    assert not (tmp_path / "site" / "old.html").exists()
    assert len(list((tmp_path / "site" / "nights").glob("*.html"))) == 1


def test_an_empty_history_gives_a_page_that_says_so(tmp_path: Path) -> None:
    (tmp_path / "h").mkdir()
    build(tmp_path / "h", tmp_path / "site")
    assert "No night yet" in (tmp_path / "site" / "index.html").read_text()
    with pytest.raises(ConfigError, match="no history folder"):
        build(tmp_path / "missing", tmp_path / "other")


def test_text_helpers() -> None:
    assert joints("a/b.py::test_x[int8-acos]") == "a/<wbr>b.py::<wbr>test_<wbr>x<wbr>[int8-<wbr>acos]"
    assert "<img" not in joints(HOSTILE)
    assert visible("a\x1bb\u202ec\x7f\n") == "a␛b<U+202E>c␡\n"
    assert esc("<\x00>") == "&lt;␀&gt;"
    used: set[str] = set()
    assert [slug("A b!", used), slug("a-b", used), slug("???", used)] == ["a-b", "a-b-2", "x"]
