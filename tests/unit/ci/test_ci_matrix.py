"""The matrix file: what it expands to, what it refuses, and what the generated workflows hold and cost."""

from __future__ import annotations

import shlex
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.unit.dashboard import synthetic

from corstone.ci import github, gitlab
from corstone.ci.budget import Measured, cuts, growth, lines, report
from corstone.ci.matrix import PACKAGES, Matrix
from corstone.ci.measured import measure
from corstone.ci.yaml_text import dump
from corstone.cli import main
from corstone.errors import ConfigError

TOP = Path(__file__).parents[3]
MATRIX = TOP / "ci" / "matrix.toml"

SMALL = """
schema = 1
[project]
install = "true"
test = "python -m pytest --x {targets}"
[systems.bookworm]
image = "python:{python}-bookworm"
qemu = "7.2"
[systems.trixie]
image = "python:{python}-trixie"
qemu = "10.0"
[defaults]
boards = ["corstone-300"]
targets = ["ethos-u55-128"]
bits = [8]
policies = ["fixed"]
provider = "emulator"
system = "bookworm"
stages = ["nightly"]
versions = { python = "3.11", vela = "5.1.0" }
[[cell]]
name = "a"
"""


def load(folder: Path, text: str) -> Matrix:
    path = folder / "matrix.toml"
    path.write_text(text)
    return Matrix.load(path)


def test_a_list_of_versions_makes_a_cell_each_named_after_what_differs(tmp_path: Path) -> None:
    matrix = load(
        tmp_path, SMALL + 'versions = { python = ["3.11", "3.12"], vela = ["5.0.0", "5.1.0"] }\nsystem = "trixie"\n'
    )
    assert [c.name for c in matrix.cells] == [
        "a-python3.11-vela5.0.0",
        "a-python3.11-vela5.1.0",
        "a-python3.12-vela5.0.0",
        "a-python3.12-vela5.1.0",
    ]
    assert matrix.cells[2].image == "python:3.12-trixie"
    assert matrix.cells[2].versions["qemu"] == "10.0"
    assert [dict(c.overrides) for c in matrix.cells] == [{"vela": "5.0.0"}, {}, {"vela": "5.0.0"}, {}]


def test_expected_shards_are_those_of_the_stage_and_of_the_licence(tmp_path: Path) -> None:
    fvp = '[[cell]]\nname = "f"\nprovider = "fvp"\nstages = ["nightly"]\n'
    matrix = load(tmp_path, SMALL + "shards = { nightly = 2 }\n" + fvp)
    assert matrix.expected_shards("nightly", fvp=False) == [("a", "1/2"), ("a", "2/2")]
    assert ("f", "1/1") in matrix.expected_shards("nightly", fvp=True)
    assert matrix.expected_shards("weekly", fvp=True) == []


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ('colour = "red"\n', "unknown colour"),
        ('targets = ["ethos-u99-1"]\n', "ethos-u99-1"),
        ('boards = ["corstone-999"]\n', "corstone-999"),
        ('boards = ["corstone-300"]\ntargets = ["ethos-u85-256"]\n', "does not carry"),
        ('policies = ["best"]\n', "'best'"),
        ("bits = [4]\n", "4"),
        ('stages = ["hourly"]\n', "hourly"),
        ('provider = "qemu"\n', "'qemu'"),
        ('system = "woody"\n', "woody"),
        ("shards = 0\n", "1 or more"),
        ('[[cell]]\nname = "a"\n', "named twice"),
    ],
)
def test_a_wrong_matrix_is_refused_with_what_is_wrong(tmp_path: Path, more: str, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        load(tmp_path, SMALL + more)


def test_the_workflows_are_those_of_the_matrix(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(TOP)
    assert main(["ci", "generate", "github", "--check"]) == 0
    assert main(["ci", "generate", "gitlab", "--check"]) == 0


def test_the_default_versions_are_the_pins_that_pip_installs() -> None:
    listed = tomllib.loads((TOP / "pyproject.toml").read_text())["project"]["dependencies"]
    parts = [str(d).partition("==") for d in listed if "==" in d]
    pins = {name.partition("[")[0]: version for name, _, version in parts}
    default = tomllib.loads(MATRIX.read_text())["defaults"]["versions"]
    assert {tool: pins[package] for tool, package in PACKAGES.items()} == {tool: default[tool] for tool in PACKAGES}


def test_no_path_of_the_host_reaches_a_container(generated: Path) -> None:
    # github.workspace names the host's folder inside a container job (actions/runner issue 2058).
    for path in (generated / ".github" / "workflows").glob("*.yml"):
        assert "github.workspace" not in path.read_text()


def test_the_version_of_an_fvp_chooses_its_machine(generated: Path) -> None:
    nightly = yaml.safe_load((generated / ".github/workflows/corstone-nightly.yml").read_text())
    rows = nightly["jobs"]["fvp"]["strategy"]["matrix"]["include"]
    assert {tuple(r["runs_on"]) for r in rows} == {("self-hosted", "corstone-fvp-11.27")}


def test_a_stale_workflow_is_found_and_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "ci").mkdir()
    load(tmp_path / "ci", SMALL)
    assert main(["ci", "generate", "gitlab", "--check"]) == 1
    assert ".gitlab-ci.yml is out of date" in capsys.readouterr().err
    assert main(["ci", "generate", "gitlab"]) == 0
    assert main(["ci", "generate", "gitlab", "--check"]) == 0


@pytest.fixture(scope="module")
def generated(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The generated files in a repository of their own, as the linters want them."""
    top = tmp_path_factory.mktemp("generated")
    matrix = Matrix.load(MATRIX)
    for path, text in {**github.generate(matrix), **gitlab.generate(matrix)}.items():
        (top / path).parent.mkdir(parents=True, exist_ok=True)
        (top / path).write_text(text)
    (top / ".git").mkdir()
    return top


def tool(name: str) -> str:
    found = shutil.which(name, path=f"{Path(sys.executable).parent}:/usr/local/bin:/usr/bin:/bin")
    if found is None:
        pytest.skip(f"{name} is missing: pip install '.[ci]'")
    return found


def test_actionlint_finds_nothing(generated: Path) -> None:
    files = sorted((generated / ".github" / "workflows").glob("*.yml"))
    assert len(files) == 3
    done = subprocess.run(
        [tool("actionlint"), *map(str, files)], cwd=generated, capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_actionlint_would_find_something(generated: Path, tmp_path: Path) -> None:
    text = (
        (generated / ".github/workflows/corstone-nightly.yml").read_text().replace("matrix.shard ", "matrix.shrad ", 1)
    )
    bad = tmp_path / "bad.yml"
    bad.write_text(text)
    done = subprocess.run(
        [tool("actionlint"), str(bad)], cwd=generated, capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 1


def test_both_engines_schemas_take_the_files(generated: Path) -> None:
    check = tool("check-jsonschema")
    files = sorted(str(p) for p in (generated / ".github" / "workflows").glob("*.yml"))
    for arguments in (
        ["--builtin-schema", "vendor.github-workflows", *files],
        ["--builtin-schema", "vendor.gitlab-ci", "--data-transform", "gitlab-ci", str(generated / ".gitlab-ci.yml")],
    ):
        done = subprocess.run([check, *arguments], capture_output=True, text=True, timeout=60, check=False)
        assert done.returncode == 0, done.stdout


def test_the_fvp_job_runs_only_where_a_licence_is(generated: Path) -> None:
    nightly = yaml.safe_load((generated / ".github/workflows/corstone-nightly.yml").read_text())
    assert nightly["jobs"]["fvp"]["if"] == "${{ vars.CORSTONE_FVP_LICENCE != '' }}"
    assert "if" not in nightly["jobs"]["test"]
    pipeline = yaml.safe_load((generated / ".gitlab-ci.yml").read_text())
    assert "$CORSTONE_FVP_LICENCE" in pipeline["nightly:fvp"]["rules"][0]["if"]
    assert pipeline["nightly:merge"]["needs"] == [
        {"job": "nightly:test", "artifacts": True},
        {"job": "nightly:fvp", "artifacts": True, "optional": True},
    ]


def test_matrix_values_reach_the_shell_as_variables_only(generated: Path) -> None:
    for path in (generated / ".github" / "workflows").glob("*.yml"):
        for job in yaml.safe_load(path.read_text())["jobs"].values():
            for step in job["steps"]:
                assert "${{" not in step.get("run", ""), f"{path.name}: {step['name']}"


TEXT = st.text(
    st.characters(min_codepoint=32, max_codepoint=0x2FF, exclude_characters="\x85\xa0") | st.just("\n"), max_size=20
)


@settings(max_examples=60, deadline=None)
@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | TEXT,
        lambda x: (
            st.lists(x, max_size=4)
            | st.dictionaries(
                st.text(st.characters(codec="ascii", min_codepoint=32, max_codepoint=126), min_size=1, max_size=8),
                x,
                max_size=4,
            )
        ),
        max_leaves=20,
    )
)
def test_yaml_reads_back_what_was_written(data: Any) -> None:
    assert _same(yaml.safe_load(dump({"data": data}))["data"], data)


def _same(read: Any, written: Any) -> bool:
    """Equal, but for what a literal block cannot keep: its very last line breaks."""
    if isinstance(written, dict):
        return (
            isinstance(read, dict)
            and list(read) == list(written)
            and all(_same(read[k], v) for k, v in written.items())
        )
    if isinstance(written, list):
        return isinstance(read, list) and len(read) == len(written) and all(map(_same, read, written))
    if isinstance(written, str) and "\n" in written:
        return str(read).rstrip("\n") == written.rstrip("\n")
    return bool(read == written and type(read) is type(written))


def test_the_budget_adds_up_and_names_what_to_cut(tmp_path: Path) -> None:
    matrix = load(tmp_path, SMALL + "shards = 3\n[budget]\nsetup_minutes = 4.0\nseconds_per_case = 60.0\n")
    line = lines(matrix)[0]
    assert (line.jobs, line.cases) == (3, 3)
    assert line.minutes == pytest.approx(3 * 4 + 3)
    assert line.monthly == pytest.approx(15 * 30)
    assert cuts(matrix) == ["a at nightly: 3 shards for 3.0 min of tests, one will do (saves 240 min a month)"]
    known = {"a": Measured(seconds=600, cases=50, nights=30, red=0, alone_red=0)}
    assert lines(matrix, known)[0].minutes == pytest.approx(22)
    assert any("never red by itself" in c for c in cuts(matrix, known))
    assert any(name == "one more shard in every nightly cell" for name, _, _ in growth(matrix))
    assert "all of nightly" in report(matrix, known)


def test_the_budget_of_a_history_knows_cells_that_are_red_alone(tmp_path: Path) -> None:
    synthetic.fill(tmp_path, nights=20, cells=3, cases=60)
    known = measure(tmp_path)
    assert len(known) == 3
    assert all(m.nights == 20 and m.cases == 20 and m.alone_red <= m.red for m in known.values())


CHECK = """
[[check]]
name = "pages"
stages = ["nightly"]
image = "python:3.12-bookworm"
system_packages = ["chromium"]
install = "pip install it"
run = ["look", "look again"]
artifacts = ["pictures"]
"""


def test_a_check_is_a_job_of_its_stages_that_keeps_what_it_made_and_fails_without(tmp_path: Path) -> None:
    matrix = load(tmp_path, SMALL + CHECK)
    job = yaml.safe_load(github.generate(matrix)[".github/workflows/corstone-nightly.yml"])["jobs"]["pages"]
    named = {s["name"]: s for s in job["steps"]}
    assert list(named) == ["Check out", "System packages", "Install", "Check", "Keep"]
    assert "install -y -qq --no-install-recommends chromium" in named["System packages"]["run"]
    assert named["Check"]["run"].splitlines() == ["look", "look again"]
    assert named["Keep"]["if"] == "always()"
    assert named["Keep"]["with"]["path"].split() == ["pictures"]
    assert named["Keep"]["with"]["if-no-files-found"] == "error"
    pipeline = yaml.safe_load(gitlab.generate(matrix)[gitlab.FILE])
    assert pipeline["nightly:pages"]["script"] == ["look", "look again", "test -e pictures"]
    assert pipeline["nightly:pages"]["artifacts"]["paths"] == ["pictures"]
    assert pipeline["nightly:pages"]["artifacts"]["when"] == "always"
    assert not [name for name in pipeline if name.endswith(":pages") and not name.startswith("nightly")]


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('name = "pages"', 'name = "merge"', "already"),
        ('["nightly"]\nimage', '["hourly"]\nimage', "no stage 'hourly'"),
        ("artifacts", "keeps", "unknown keeps"),
        ("run =", "# run =", "has no run"),
    ],
)
def test_a_wrong_check_is_refused(tmp_path: Path, old: str, new: str, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        load(tmp_path, SMALL + CHECK.replace(old, new))


def test_our_pages_are_looked_at_in_a_browser_and_the_pictures_kept(generated: Path) -> None:
    browser_tests = {p.name for p in (TOP / "tests" / "acceptance").glob("test_*_browser.py")}
    for stage in ("pull-request", "nightly"):
        job = yaml.safe_load((generated / f".github/workflows/corstone-{stage}.yml").read_text())["jobs"]["pages"]
        script = next(s["run"] for s in job["steps"] if s["name"] == "Check")
        assert {Path(w).name for w in script.split() if w.startswith("tests/")} == browser_tests
        (kept,) = (s["with"]["path"].split() for s in job["steps"] if s["name"] == "Keep")
        assert f"CORSTONE_ARTIFACTS={kept[0]} " in script


def test_jobs_without_torch_install_what_the_project_asks_for() -> None:
    project = tomllib.loads((TOP / "pyproject.toml").read_text())["project"]
    asked = {d for group in [project["dependencies"], *project["optional-dependencies"].values()] for d in group}
    data = tomllib.loads(MATRIX.read_text())
    for lines_ in (data["project"]["merge_install"], data["check"][0]["install"]):
        words = [w for line in lines_ for w in shlex.split(line)[5:] if not w.startswith("-") and w != "."]
        assert len(words) >= 3
        assert set(words) <= asked, "another range than that of pyproject.toml"
