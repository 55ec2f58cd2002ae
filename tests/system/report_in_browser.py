"""Open a report in headless Chromium: it sorts, filters, fits a phone, prints, and no name is anything but text.

    python tests/system/report_in_browser.py build/report             # writes the report and its screenshots there
    python tests/system/report_in_browser.py run.html picture.png     # takes one screenshot of the top of a report

It needs Chromium with its driver, and selenium.
"""

from __future__ import annotations

import base64
import json
import os
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from selenium import webdriver
from selenium.webdriver.common.by import By

from thresher import ShadowSOFS, evaluate, open_stream, path, stability, train, write_report
from thresher.charts import escape_controls

# Names that would do something, if they were anything but text.
NASTY = [
    "<script>document.title='run'</script>",
    "<img/src=x/onerror=document.title='run'>",
    "</td></tr></table><h1>out</h1>",
    "';document.title='run';//",
    "\u202egnorw",
]
SPELLED = [name.replace("=", "\\=") for name in NASTY]  # as features of columns
WIDE, NARROW = 1280, 390  # pixels


def main() -> None:
    """Check a report, or take a picture of one."""
    if len(sys.argv) == 3:
        with browser() as driver:
            resize(driver, WIDE)
            driver.get(Path(sys.argv[1]).resolve().as_uri())
            screenshot(driver, Path(sys.argv[2]), WIDE, 1_543)
        return
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    model = write(folder)
    with browser() as driver:
        resize(driver, WIDE)
        driver.get((folder / "run.html").resolve().as_uri())
        check_text(driver, model)
        check_sorting(driver, model)
        check_filter(driver, model)
        check_looks(driver, folder)
        complaints = [entry for entry in driver.get_log("browser") if entry["level"] != "DEBUG"]
        assert not complaints, complaints
        requests = driver.execute_script("return performance.getEntriesByType('resource').map(each => each.name)")
        assert requests == [], requests
    print(f"the report works in Chromium: {folder / 'run.html'} and its screenshots")


def write(folder: Path) -> Any:
    """Write a report with all its parts, on features with nasty names; return the model."""
    random = np.random.default_rng(0)
    names = [*NASTY, *(f"word {k}" for k in range(60))]
    with (folder / "rows.jsonl").open("w") as file:
        for _ in range(3_000):
            words = random.random(len(names)) < 0.15
            score = sum((-1) ** k * (6 - k // 10) for k in np.flatnonzero(words)) + random.normal(0, 3)
            row = {name: 1 for name, is_there in zip(names, words, strict=True) if is_there}
            file.write(json.dumps({"label": "<b>spam</b>" if score > 0 else "ham & eggs", **row}) + "\n")

    def rows() -> Any:
        return open_stream(folder / "rows.jsonl", numeric=names, scale=False)

    model = stability(ShadowSOFS(40, decoys=True), rows(), n=4).model
    history = train(ShadowSOFS(40, gamma="auto"), rows(), validate=rows())
    curve = path(ShadowSOFS(), rows(), n_features=[5, 10, 20, 40])
    write_report(
        folder / "run.html", model, history, evaluate(model, rows()), curve, title="<i>rows</i>", command="a < b"
    )
    return model


@contextmanager
def browser() -> Iterator[Any]:
    """Start headless Chromium."""
    options = webdriver.ChromeOptions()
    options.binary_location = shutil.which("chromium") or ""
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    for argument in ("--headless=new", "--disable-gpu", "--disable-dev-shm-usage", "--hide-scrollbars"):
        options.add_argument(argument)
    if os.geteuid() == 0:
        options.add_argument("--no-sandbox")
    driver = webdriver.Chrome(options=options, service=webdriver.ChromeService(shutil.which("chromedriver")))
    try:
        yield driver
    finally:
        driver.quit()


def check_text(driver: Any, model: Any) -> None:
    """Names and labels are shown as they are, and are nothing but text."""
    assert driver.title == "<i>rows</i> – thresher report", driver.title
    assert column(driver, 1) == names_of(model)
    assert {escape_controls(name) for name in SPELLED} <= set(column(driver, 1))
    assert set(column(driver, -1)) == {"<b>spam</b>", "ham & eggs"}
    for tag, n in (("script", 1), ("img", 0), ("h1", 1), ("b", 0), ("i:not(.up):not(.down)", 0)):
        assert len(driver.find_elements(By.CSS_SELECTOR, tag)) == n, tag
    assert driver.find_element(By.TAG_NAME, "pre").text == "a < b"


def check_sorting(driver: Any, model: Any) -> None:
    """A click on a heading sorts by it, another one the other way round."""
    of_columns = dict(zip(model.coef_.indices.tolist(), model.coef_.data.tolist(), strict=True))
    weights = {name: of_columns[c] for name, c in zip(names_of(model), model.selected_.tolist(), strict=True)}
    for descending in (True, False):
        click(driver, "weight")
        expected = sorted(names_of(model), key=lambda name: weights[name], reverse=descending)
        assert column(driver, 1) == expected, column(driver, 1)
    shares = [int(cell.removesuffix(" %")) for cell in column(driver, 4)]
    click(driver, "selected in")
    assert [int(cell.removesuffix(" %")) for cell in column(driver, 4)] == sorted(shares, reverse=True)
    click(driver, "q-value")
    q_values = [float(cell) for cell in column(driver, 3)]
    assert q_values == sorted(q_values), q_values
    click(driver, "feature")
    words = [name for name in column(driver, 1) if name.startswith("word")]
    assert words == sorted(words, key=lambda name: int(name.removeprefix("word "))), words
    click(driver, "rank")
    assert column(driver, 1) == names_of(model)
    sorted_by = driver.find_elements(By.CSS_SELECTOR, "#features [aria-sort]")
    assert [(each.text.split()[0], each.get_attribute("aria-sort")) for each in sorted_by] == [("rank", "ascending")]


def check_filter(driver: Any, model: Any) -> None:
    """What is typed leaves the features whose names have it, whatever the case."""
    field = driver.find_element(By.ID, "filter")
    field.send_keys("WORD 1")
    expected = [name for name in names_of(model) if "word 1" in name]
    assert shown(driver) == expected, shown(driver)
    assert driver.find_element(By.ID, "count").text == f"{len(expected)} of 40 shown"
    field.clear()
    field.send_keys("<script>")
    assert shown(driver) == [SPELLED[0]]
    field.clear()
    field.send_keys(" \b")
    assert shown(driver) == names_of(model)


def check_looks(driver: Any, folder: Path) -> None:
    """Nothing sticks out, dark is dark, and the page can be printed."""
    screenshot(driver, folder / "wide.png", WIDE)
    light = background(driver)
    media(driver, "prefers-color-scheme", "dark")
    screenshot(driver, folder / "dark.png", WIDE)
    assert sum(background(driver)) < 150 < 600 < sum(light)
    media(driver, "prefers-color-scheme", "light")
    resize(driver, NARROW)
    screenshot(driver, folder / "narrow.png", NARROW)
    assert driver.execute_script("return document.documentElement.scrollWidth") <= NARROW
    driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print"})
    assert not driver.find_element(By.ID, "filter").is_displayed()
    printed = base64.b64decode(driver.execute_cdp_cmd("Page.printToPDF", {"printBackground": True})["data"])
    assert printed.startswith(b"%PDF-")
    (folder / "run.pdf").write_bytes(printed)


def names_of(model: Any) -> list[str]:
    """Return the names of the selected features as the report writes them."""
    return [escape_controls(name) for name in model.selected_names_]


def column(driver: Any, number: int) -> list[str]:
    """Return the cells of a column of the table, from the first row to the last, also if they are hidden."""
    return list(
        driver.execute_script(
            "return Array.from(document.querySelectorAll('#features tbody tr'), row => "
            "Array.from(row.cells).at(arguments[0]).textContent)",
            number,
        )
    )


def shown(driver: Any) -> list[str]:
    """Return the names of the features that can be seen."""
    rows = driver.find_elements(By.CSS_SELECTOR, "#features tbody tr")
    return [row.find_element(By.TAG_NAME, "bdi").get_attribute("textContent") for row in rows if row.is_displayed()]


def click(driver: Any, heading: str) -> None:
    """Click the heading of a column."""
    (button,) = [each for each in driver.find_elements(By.CSS_SELECTOR, "#features button") if each.text == heading]
    button.click()


def background(driver: Any) -> list[int]:
    """Return the red, green and blue of the page's background."""
    colour = driver.execute_script("return getComputedStyle(document.body).backgroundColor")
    return [int(part) for part in colour.removeprefix("rgb(").removesuffix(")").split(",")]


def media(driver: Any, name: str, value: str) -> None:
    """Set a feature of the medium."""
    driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [{"name": name, "value": value}]})


def resize(driver: Any, width: int) -> None:
    """Give the page a width, as a phone's or a desktop's."""
    size = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 500}
    driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)


def screenshot(driver: Any, path: Path, width: int, height: int | None = None) -> None:
    """Write a picture of the whole page, or of its top."""
    height = height or driver.execute_script("return document.documentElement.scrollHeight")
    clip = {"x": 0, "y": 0, "width": width, "height": height, "scale": 1}
    found = driver.execute_cdp_cmd("Page.captureScreenshot", {"captureBeyondViewport": True, "clip": clip})
    path.write_bytes(base64.b64decode(found["data"]))


if __name__ == "__main__":
    main()
