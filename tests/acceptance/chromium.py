"""A headless Chromium for tests of pages: started without a network, skipped with a reason where it is missing."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

DESKTOP, PHONE = (1280, 900), (390, 844)
_FLAGS = (
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-dev-shm-usage",
    "--hide-scrollbars",
    "--force-prefers-reduced-motion",
)


@contextmanager
def browser(profile: Path, *, dark: bool = False) -> Iterator[Any]:
    """A driver; skips the test where Chromium, its driver or selenium is missing."""
    webdriver = pytest.importorskip("selenium.webdriver", reason="selenium is missing: pip install '.[browser]'")
    chromium, driver = shutil.which("chromium"), shutil.which("chromedriver")
    if not chromium or not driver:
        pytest.skip("Chromium is missing: apt-get install chromium chromium-driver")
    options = webdriver.ChromeOptions()
    options.binary_location = chromium
    for flag in (*_FLAGS, f"--user-data-dir={profile}", *(["--force-dark-mode"] if dark else [])):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    started = webdriver.Chrome(options=options, service=webdriver.ChromeService(executable_path=driver))
    try:
        started.set_page_load_timeout(30)
        yield started
    finally:
        started.quit()


def show(driver: Any, page: str, size: tuple[int, int]) -> None:
    """Open a page (a path or an address) in a window whose inside has this size."""
    driver.execute_cdp_cmd(
        "Emulation.setDeviceMetricsOverride",
        {"width": size[0], "height": size[1], "deviceScaleFactor": 1, "mobile": size[0] < 600},
    )
    driver.get(page)


def severe_console(driver: Any) -> list[str]:
    """What the console holds that is an error; reading it empties it."""
    return [e["message"] for e in driver.get_log("browser") if e["level"] == "SEVERE"]


def accessibility_defects(driver: Any) -> list[str]:
    """Serious and critical findings of axe-core on the page that is open."""
    module = pytest.importorskip("axe_core_python", reason="axe-core-python is missing: pip install '.[browser]'")
    script = Path(str(module.__file__)).with_name("axe.min.js").read_text(encoding="utf-8")
    driver.execute_cdp_cmd("Runtime.evaluate", {"expression": script})
    found = driver.execute_async_script(
        "const done = arguments[0]; axe.run(document, {resultTypes: ['violations']}).then(r => done(r.violations))"
    )
    return [
        f"{v['id']} ({v['impact']}): {v['help']}: {[n['html'][:160] for n in v['nodes'][:3]]}"
        for v in found
        if v["impact"] in {"serious", "critical"}
    ]


def screenshot(driver: Any, path: Path, full: bool = False) -> Path:
    """A picture of what is shown, kept as an artifact."""
    path.parent.mkdir(parents=True, exist_ok=True)
    if full:
        height = driver.execute_script("return Math.min(4000, document.documentElement.scrollHeight)")
        width = driver.execute_script("return innerWidth")
        driver.execute_cdp_cmd(
            "Emulation.setDeviceMetricsOverride",
            {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600},
        )
    driver.save_screenshot(str(path))
    return path


def paint_ms(driver: Any) -> float:
    """Time to first contentful paint of the page that is open, in milliseconds; NaN where the browser gave none."""
    found = driver.execute_script(
        "const p = performance.getEntriesByName('first-contentful-paint')[0]; return p ? p.startTime : null"
    )
    return float("nan") if found is None else float(found)
