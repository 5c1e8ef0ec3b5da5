"""News of a running search: to the log, and to a bar, to lines on stderr or to a function of the user's."""

from __future__ import annotations

import contextlib
import logging
import sys
import time
from typing import Any, Callable, Iterator

from secateur._errors import OptionError

_log = logging.getLogger("secateur")

News = Callable[[dict[str, Any]], None]
# Seconds between two lines on stderr.
_PAUSE = 1.0


@contextlib.contextmanager
def watching(progress: Any, trees: int) -> Iterator[News | None]:
    """What the extension shall call with each status; `None` where nobody listens."""
    if progress is None or progress is False:
        yield _logged(None) if _log.isEnabledFor(logging.DEBUG) else None
    elif callable(progress):
        yield _logged(progress)
    elif progress is True:
        show, close = _bar(trees)
        try:
            yield _logged(show)
        finally:
            close()
    else:
        raise OptionError(f"progress must be True, False, None or a function, not {progress!r}")


@contextlib.contextmanager
def sharing(progress: Any, what: str) -> Iterator[News | None]:
    """The same for work of which a share is done, from 0 to 1, and nothing else is known."""
    if progress is None or progress is False:
        yield None
    elif callable(progress):
        yield progress
    elif progress is True:
        show, close = _share_bar(what)
        try:
            yield show
        finally:
            close()
    else:
        raise OptionError(f"progress must be True, False, None or a function, not {progress!r}")


def _share_bar(what: str) -> tuple[News, Callable[[], None]]:
    try:
        from tqdm.auto import tqdm
    except ImportError:
        return _every_pause(lambda status: f"{what}: {status['share']:.0%}")
    bar = tqdm(total=1.0, desc=f"secateur: {what}", bar_format="{desc} |{bar}| {percentage:.0f} % {elapsed}")

    def show(status: dict[str, Any]) -> None:
        bar.n = status["share"]
        bar.refresh()

    return show, bar.close


def words(status: dict[str, Any], trees: int) -> str:
    """A status in a line."""
    best = trees if status["best"] is None else status["best"]
    return f"{status['pass']}: {best:,} of {trees:,} trees, at least {status['lower_bound']:,}, {status['points']:,} points"


def _logged(show: News | None) -> News:
    last = None

    def news(status: dict[str, Any]) -> None:
        nonlocal last
        seen = (status["pass"], status["best"], status["lower_bound"])
        if seen != last:
            last = seen
            _log.debug("%s: best %s, lower bound %s, %s points", *seen, status["points"])
        if show is not None:
            show(status)

    return news


def _bar(trees: int) -> tuple[News, Callable[[], None]]:
    try:
        from tqdm.auto import tqdm
    except ImportError:
        return _lines(trees)
    bar = tqdm(total=trees, desc="secateur", unit="tree", bar_format="{desc} |{bar}| {elapsed}{postfix}")

    def show(status: dict[str, Any]) -> None:
        # Full when the lower bound is reached: trees that went, and trees that are proved to be needed.
        best = trees if status["best"] is None else status["best"]
        bar.n = max(trees - best + status["lower_bound"], 0)
        bar.set_postfix_str(words(status, trees), refresh=False)
        bar.refresh()

    return show, bar.close


def _lines(trees: int) -> tuple[News, Callable[[], None]]:
    return _every_pause(lambda status: words(status, trees))


def _every_pause(line: Callable[[dict[str, Any]], str]) -> tuple[News, Callable[[], None]]:
    """Lines on stderr, with a pause between them."""
    due = time.monotonic()

    def show(status: dict[str, Any]) -> None:
        nonlocal due
        if time.monotonic() >= due:
            due = time.monotonic() + _PAUSE
            print(f"secateur: {line(status)}", file=sys.stderr, flush=True)

    return show, lambda: None
