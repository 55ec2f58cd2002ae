"""The command line: `thresher`."""

from __future__ import annotations

import signal
import sys
import warnings
from typing import Any, NoReturn


def main() -> None:
    """Run the command line; whatever the user can fix is one line on stderr and exit code 2."""
    try:
        # A file that is half written must not be left behind when the process is ended from outside.
        signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
        _run()
    except (ValueError, OSError) as error:
        _fail(str(error))
    except MemoryError:
        _fail("not enough memory.")
    except KeyboardInterrupt:
        print("thresher: stopped by Ctrl-C.", file=sys.stderr)
        sys.exit(130)


def _run() -> None:
    import typer

    from thresher.cli.app import app

    # click's, which typer may carry inside
    usage_error: Any = next(kind for kind in typer.BadParameter.__mro__ if kind.__name__ == "UsageError")
    warnings.showwarning = lambda message, *_, **__: print(f"thresher: warning: {message}", file=sys.stderr)
    warnings.simplefilter("always", UserWarning)
    warnings.simplefilter("always", RuntimeWarning)
    try:
        sys.exit(app(standalone_mode=False))
    except BrokenPipeError:
        # Whoever read our output has left; that is nobody's mistake.
        sys.stdout = None
        sys.exit(0)
    except usage_error as error:
        _fail(error.format_message())
    except typer.Abort:
        sys.exit(130)


def _fail(message: str) -> NoReturn:
    print("thresher: " + " ".join(message.split()), file=sys.stderr)
    sys.exit(2)
