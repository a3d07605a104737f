"""What a job does, the same for every CI engine: shell lines, with the engine's own words for cells and shards.

Names that come from the matrix reach the shell as environment variables, never as text pasted into a script.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from corstone.ci.matrix import PACKAGES, Cell, Matrix

LEDGERS = "corstone-ledgers"
REPORT = "corstone-report"
HISTORY = "corstone-history"
SITE = "corstone-site"
DURATIONS = "corstone-durations.json"
OUT = "corstone-out"

# Content that decides what a cached program or image is: a change here is a new cache.
COMPILER_FILES = ("pyproject.toml", "harness/corstone/lowering/**", "harness/corstone/quantize/**", "models/**")
IMAGE_FILES = ("harness/corstone/runners.py", "harness/corstone/setup.py")


def lines(value: Any) -> list[str]:
    """One shell line, or several, as a list."""
    return [value] if isinstance(value, str) else list(value)


def system_script(matrix: Matrix) -> str:
    """System packages; empty when the project names none."""
    return packages_script(lines(matrix.project.get("system_packages", [])))


def packages_script(names: Sequence[str]) -> str:
    """Installs packages of the image's system; empty for none."""
    if not names:
        return ""
    packages = " ".join(names)
    # A clean image is root's and has no sudo; a machine of one's own is neither.
    return (
        'as_root=$([ "$(id -u)" = 0 ] || echo sudo)\n'
        f"$as_root apt-get update -qq\n$as_root apt-get install -y -qq --no-install-recommends {packages}"
    )


def install_script(matrix: Matrix) -> str:
    """The project with its pinned tools, then the versions this cell differs in."""
    names = [f"{v.upper()}_VERSION" for v in PACKAGES]
    listed = lines(matrix.project["install"])
    if any(c.overrides for c in matrix.cells):
        for tool, variable in zip(PACKAGES.values(), names, strict=True):
            listed.append(
                f'if [ -n "${{{variable}:-}}" ]; then python -m pip install -q --no-deps "{tool}==${variable}"; fi'
            )
    return "\n".join(listed)


def setup_script(matrix: Matrix) -> str:
    """What pip cannot fetch."""
    return "\n".join(lines(matrix.project.get("setup", [])))


def plan_script() -> str:
    """The durations all shards of this run split by.

    They are fixed once, in a job that a re-run of failed jobs leaves alone: were they taken anew, a shard that is run
    again could get other tests than the one that died, and some would run in none.
    """
    return f"test -f {DURATIONS} || echo '{{}}' > {DURATIONS}"


def test_script(matrix: Matrix) -> str:
    """The tests of one shard, judged by their ledgers as the merge will judge all: quarantined failures are not red.

    A red shard is a failed job, which "re-run failed jobs" finds; its ledgers are kept whatever happened.
    """
    command = matrix.project["test"].format(
        provider='"$PROVIDER"', boards='"$BOARDS"', targets='"$TARGETS"', bits='"$BITS"', policies='"$POLICIES"'
    )
    return (
        f"set +e\n{command} \\\n"
        f'  --corstone-ledger {LEDGERS} --reruns "$RETRIES" \\\n'
        f'  --splits "$SHARDS" --group "$SHARD" --durations-path {DURATIONS} --splitting-algorithm least_duration\n'
        'echo "pytest ended with status $?"\n'
        f"corstone report merge {LEDGERS} --alone --quarantine {matrix.quarantine}"
    )


def cell_environment(cell: Cell, stage: str) -> dict[str, str]:
    """Variables of a cell; the shard comes beside them."""
    env = {
        "CELL": cell.name,
        "PROVIDER": cell.provider,
        "BOARDS": ",".join(cell.boards),
        "TARGETS": ",".join(cell.targets),
        "BITS": ",".join(map(str, cell.bits)),
        "POLICIES": ",".join(cell.policies),
        "RETRIES": str(cell.retries),
        "SHARDS": str(cell.shards[stage]),
    }
    return env | {f"{tool.upper()}_VERSION": version for tool, version in cell.overrides.items()}


def merge_script(
    matrix: Matrix, stage: str, *, fvp_flag: str, summary: str, quarantine: str, flavour: str = "properties"
) -> str:
    """One report and one answer from the ledgers of all jobs. Shards that left nothing are red.

    ``fvp_flag``: shell words that say whether FVP cells ran. ``summary``: where the engine takes Markdown from.
    ``flavour``: of the JUnit file.
    """
    chosen = "" if flavour == "properties" else f" --junit-flavour {flavour}"
    return (
        f"corstone report merge {LEDGERS} --expect {matrix.reference} --stage {stage}{fvp_flag} \\\n"
        f'  --quarantine {quarantine} --title "Corstone {stage}" \\\n'
        f"  --junit {REPORT}/junit.xml{chosen} --html {REPORT}/report.html --json {REPORT}/report.json \\\n"
        f"  --markdown {summary} --durations {DURATIONS}"
    )


def dashboard_script(quarantine: str) -> str:
    """The history with this night in it, and its site."""
    return (
        f"corstone dashboard ingest {HISTORY} {LEDGERS}\n"
        f"corstone dashboard build {HISTORY} -o {SITE} --quarantine {quarantine}\n"
        f"corstone dashboard export {HISTORY} --openmetrics {SITE}/metrics.txt --csv {SITE}/history.csv"
    )


def header(matrix: Matrix, engine: str, files: Sequence[str]) -> str:
    """First lines of a generated file."""
    return (
        f"# Generated from {matrix.reference} by: corstone ci generate {engine}\n"
        f"# Do not edit: change the matrix and generate again ({', '.join(files)}).\n"
    )
