"""`python3 tests/run.py report`: opens pages in a headless Chromium and judges them there.

Every page is opened in the light and the dark theme, at the width of a desktop, of a tablet and of a
phone. It must load nothing but itself, report no error, need no horizontal scrolling, and keep its text
readable (contrast) and inside its boxes. If a JSON result stands beside a page (same name, `.json`), the
numbers must be equal: those in the page's `<data>` elements, and the text that people see.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from pathlib import Path
from typing import Any

from chromium import Chromium

WIDTHS = (1280, 768, 360)

# Elements that extend beyond the page, unless they are in a container that scrolls.
OUTSIDE = """
[...document.querySelectorAll('body *')].filter(element => {
  if (element.closest('.wide, .hidden') || element.closest('svg') !== null && element.tagName !== 'svg') return false;
  const box = element.getBoundingClientRect();
  return box.width > 0 && (box.right > innerWidth + 0.5 || box.left < -0.5);
}).map(element => element.tagName + '.' + element.className + ': ' + element.textContent.slice(0, 60))
"""

# Texts whose contrast with their background is below the 4.5 that WCAG requires.
PALE = """
(() => {
  const channel = value => (value /= 255) <= 0.03928 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4;
  const parse = text => text.match(/[\\d.]+/g).map(Number);
  const light = ([r, g, b]) => 0.2126 * channel(r) + 0.7152 * channel(g) + 0.0722 * channel(b);
  const behind = element => {
    for (; element; element = element.parentElement) {
      const colour = parse(getComputedStyle(element).backgroundColor);
      if (colour.length < 4 || colour[3] > 0.5) return colour;
    }
    return [255, 255, 255];
  };
  const pale = new Set();
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const element = walker.currentNode.parentElement;
    if (!walker.currentNode.textContent.trim() || element.closest('svg, .hidden')) continue;
    const [a, b] = [light(parse(getComputedStyle(element).color)), light(behind(element))].sort((x, y) => y - x);
    const contrast = (a + 0.05) / (b + 0.05);
    if (contrast < 4.5) pale.add(element.tagName + '.' + element.className + ' ' + contrast.toFixed(2));
  }
  return [...pale];
})()
"""

DATA = "[...document.querySelectorAll('data')].map(one => [one.dataset.key, one.value, one.textContent])"
UNNAMED = "[...document.querySelectorAll('svg[role=img]')].filter(svg => !svg.querySelector('title, desc')).length"


def flat(value: Any, prefix: str = "") -> dict[str, Any]:
    """A JSON result as dotted keys."""
    if isinstance(value, dict):
        parts = ((f"{prefix}.{key}" if prefix else key, part) for key, part in value.items())
    elif isinstance(value, list):
        parts = ((f"{prefix}.{index}", part) for index, part in enumerate(value))
    else:
        return {prefix: value}
    return {name: leaf for key, part in parts for name, leaf in flat(part, key).items()}


def compare(data: list[list[str]], result: dict[str, Any]) -> list[str]:
    """Numbers of the page that are not those of the result."""
    wanted, problems, met = flat(result), [], 0
    for key, value, text in data:
        if key not in wanted or isinstance(wanted[key], (str, bool)) or wanted[key] is None:
            continue
        met += 1
        # A measured time may have changed between the two.
        if float(value) != float(wanted[key]):
            problems.append(f"{key} is {value} in the page and {wanted[key]} in the result")
        shown = re.sub(r"[,\s]", "", text)
        if isinstance(wanted[key], int) and shown.isdigit() and int(shown) != wanted[key]:
            problems.append(f"{key} is shown as {text}, the result has {wanted[key]}")
    if met < 3:
        problems.append(f"only {met} numbers of the page are in the result")
    return problems


def judge(browser: Chromium, page: Path, width: int, dark: bool) -> list[str]:
    browser.open(page, width, dark)
    problems = []
    across = browser.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
    if across > 0:
        problems.append(f"scrolls sideways by {across} px")
    problems += [f"outside the window: {one}" for one in browser.evaluate(OUTSIDE)[:5]]
    problems += [f"pale text: {one}" for one in browser.evaluate(PALE)[:5]]
    if browser.evaluate(UNNAMED):
        problems.append("a picture has no title")
    if browser.evaluate("document.title") == "broken" or browser.evaluate("document.scripts.length"):
        problems.append("a script got in")
    own = page.resolve().as_uri()
    for event in browser.events:
        method, parameters = event.get("method"), event.get("params", {})
        if method == "Network.requestWillBeSent" and parameters["request"]["url"] != own:
            problems.append(f"asks for {parameters['request']['url']}")
        if method == "Log.entryAdded" and parameters["entry"]["level"] in ("error", "warning"):
            problems.append(f"says {parameters['entry']['text']}")
        if method == "Runtime.exceptionThrown":
            problems.append("throws")
    result = page.with_suffix(".json")
    if result.exists():
        problems += compare(browser.evaluate(DATA), json.loads(result.read_text()))
    return problems


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path, help="where the pages are")
    parser.add_argument("--shots", type=Path, help="write a picture of every view into this folder")
    parser.add_argument("--need", type=int, default=1, help="fail with fewer pages than this")
    options = parser.parse_args()
    pages = sorted(options.folder.glob("*.html"))
    if len(pages) < options.need:
        sys.exit(f"{len(pages)} pages in {options.folder}, {options.need} are needed")
    if options.shots:
        options.shots.mkdir(parents=True, exist_ok=True)
    browser = Chromium()
    failed = 0
    try:
        for page in pages:
            for width in WIDTHS:
                for dark in (False, True):
                    problems = judge(browser, page, width, dark)
                    view = f"{page.stem}-{width}-{'dark' if dark else 'light'}"
                    failed += bool(problems)
                    print(f"{view}: {'; '.join(problems) or 'fine'}", flush=True)
                    if options.shots:
                        browser.screenshot(options.shots / f"{view}.png")
            if options.shots:
                browser.pdf(options.shots / f"{page.stem}.pdf")
    finally:
        browser.close()
    with_result = sum(page.with_suffix(".json").exists() for page in pages)
    print(f"{len(pages)} pages, {with_result} with a JSON result, {failed} views with problems")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
