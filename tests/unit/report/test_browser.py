"""The page in a real browser: Debian's Chromium without a window, told what to do by Selenium.

Skipped by name without `chromium` and `chromedriver` (packages chromium and chromium-driver).
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from selenium import webdriver
from selenium.webdriver.chrome.options import Options
from selenium.webdriver.chrome.service import Service

from tests.published_plan import EXPERIMENT, PublishedPlan
from torsweep.report import gather, render

pytestmark = pytest.mark.chromium

PHONE, DESKTOP = 375, 1280
A4 = 680
"""CSS pixels between the margins of a page of paper."""

FIGURES = (
    "return [...document.images].map(i => [i.complete, i.naturalWidth, i.getBoundingClientRect().width]);"
)
WIDE = """
const wide = [...document.body.querySelectorAll('*:not(.skip)')].filter(e => {
  const box = e.getBoundingClientRect(); return box.width > 1 && box.right > innerWidth + 1; });
return [document.documentElement.scrollWidth, wide.map(e => e.tagName + '.' + e.className)];
"""
OPEN_ALL = "document.querySelectorAll('details').forEach(details => { details.open = true; });"


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[webdriver.Chrome]:
    options = Options()
    options.binary_location = str(shutil.which("chromium"))
    for argument in ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"):
        options.add_argument(argument)
    options.add_argument(f"--user-data-dir={tmp_path_factory.mktemp('profile')}")
    # What a page says on the console, and every address that it asks for.
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    driver = webdriver.Chrome(options=options, service=Service(shutil.which("chromedriver")))
    yield driver
    driver.quit()


@pytest.fixture(scope="module")
def file(plan: PublishedPlan, tmp_path_factory: pytest.TempPathFactory) -> Path:
    page = render(gather(plan.stage("summaries"), plan.stage("figures"), EXPERIMENT, plan.networks))
    file = tmp_path_factory.mktemp("browser") / "page.html"
    file.write_text(page)
    return file


@pytest.fixture(params=[PHONE, DESKTOP], ids=["phone", "desktop"])
def seen(browser: webdriver.Chrome, file: Path, request: pytest.FixtureRequest) -> webdriver.Chrome:
    """The page with all that is folded away opened, on a phone and on a desk."""
    size: dict[str, Any] = {"width": request.param, "height": 800, "deviceScaleFactor": 1}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", {**size, "mobile": request.param == PHONE})
    browser.get(file.as_uri())
    browser.execute_script(OPEN_ALL)
    return browser


def test_nothing_is_wider_than_the_screen(seen):
    width, wide = seen.execute_script(WIDE)
    assert width <= seen.execute_script("return innerWidth")
    assert wide == []


def test_every_figure_is_drawn(plan, seen):
    images = seen.execute_script(FIGURES)
    assert len(images) == len(plan.experiment.figures)
    assert all(complete and natural == 1020 and shown > 300 for complete, natural, shown in images)


def test_the_console_is_silent_and_no_other_address_is_asked_for(browser, file):
    for log in ("browser", "performance"):
        browser.get_log(log)
    browser.get(file.as_uri())
    assert browser.get_log("browser") == []
    messages = [entry["message"] for entry in browser.get_log("performance")]
    sent = [message for message in messages if "requestWillBeSent" in message and '"url":"' in message]
    asked = [message.split('"url":"')[1].split('"')[0] for message in sent]
    assert {address.split(":")[0] for address in asked} <= {"file", "data"}
    assert len([address for address in asked if address.startswith("file:")]) >= 1


def test_on_paper_everything_is_open(browser, file):
    browser.get(file.as_uri())
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print"})
    try:
        height = "return document.querySelector('details .table').getBoundingClientRect().height"
        assert browser.execute_script(height) > 50
        size = {"width": A4, "height": 800, "deviceScaleFactor": 1, "mobile": False}
        browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
        width, wide = browser.execute_script(WIDE)
        assert width <= A4
        assert wide == []
        cell = "return getComputedStyle(document.querySelector('td')).display"
        assert browser.execute_script(cell) == "table-cell", "a table of a phone on paper"
    finally:
        browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": ""})
