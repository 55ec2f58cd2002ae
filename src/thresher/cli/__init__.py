"""The command line: `thresher`."""

from __future__ import annotations

import sys


def main() -> None:
    """Run the command line; whatever the user can mend is one line on stderr and exit code 2."""
    import typer

    from thresher.cli.app import app

    usage_error: type[Exception] = typer.BadParameter.__mro__[1]  # of click, which typer may or may not carry inside
    try:
        sys.exit(app(standalone_mode=False))
    except usage_error as error:
        _fail(error.format_message())  # type: ignore[attr-defined]
    except (ValueError, OSError) as error:
        _fail(str(error))
    except (KeyboardInterrupt, typer.Abort):
        sys.exit(130)


def _fail(message: str) -> None:
    print("thresher: " + " ".join(message.split()), file=sys.stderr)
    sys.exit(2)
