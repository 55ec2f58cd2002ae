"""The command line: `thresher`."""

from __future__ import annotations

import signal
import sys
import warnings
from contextlib import suppress
from typing import Any, NoReturn

from thresher.cli.flags import as_option
from thresher.io.file_errors import error_text
from thresher.messages import spell_parameters, spelling


def main() -> NoReturn:
    """Run the command line; whatever the user can fix is one line on stderr and exit code 2."""
    code: Any = 2
    as_before = spelling()
    spell_parameters(as_option)
    try:
        status = _run()
        sys.stdout.flush()
        code = status
    except BrokenPipeError:
        code = 0  # the reader of our output has closed it: not an error
    except (ValueError, OSError) as error:
        _report(error_text(error))
    except MemoryError:
        _report("not enough memory.")
    except (ImportError, RuntimeError) as error:
        if not _is_for_lack_of_memory(error):
            raise
        _report("not enough memory.")
    except KeyboardInterrupt:
        _report("stopped by Ctrl-C.")
        code = 130
    except SystemExit as ended:
        code = ended.code
    finally:
        spell_parameters(as_before)
    try:
        sys.stdout.flush()
    except OSError:
        sys.stdout = None  # it was reported; Python would try again, and report it again, when it exits
    sys.exit(code)


def _run() -> Any:
    from thresher.cli.output import name_standard_streams

    name_standard_streams()
    for number in (signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) is not signal.SIG_IGN:  # nohup ignores the second
            # A file that is half written must not be left behind when the process is ended from outside.
            signal.signal(number, lambda received, _: sys.exit(128 + received))
    import typer

    from thresher.cli.app import app
    from thresher.cli.options import with_values

    # click's, which typer may carry inside
    usage_error: Any = next(kind for kind in typer.BadParameter.__mro__ if kind.__name__ == "UsageError")
    warnings.showwarning = lambda message, *_, **__: _warn(message)
    # Each message once: several models may have the same to say of their data.
    warnings.simplefilter("default", UserWarning)
    warnings.simplefilter("default", RuntimeWarning)
    try:
        return app(with_values(sys.argv[1:]), standalone_mode=False)
    except SystemExit as ended:
        if isinstance(ended.__context__, BrokenPipeError):
            raise ended.__context__ from None  # which typer has made an exit code
        raise
    except usage_error as error:
        raise ValueError(error.format_message()) from None
    except typer.Abort:
        sys.exit(130)


def _is_for_lack_of_memory(error: BaseException | None) -> bool:
    """Return whether a thread or a library did not fit into memory: Python has no MemoryError for these."""
    if error is None:
        return False
    signs = ("can't start new thread", "failed to map segment", "annot allocate memory")
    return any(sign in str(error) for sign in signs) or _is_for_lack_of_memory(error.__cause__ or error.__context__)


def _warn(message: Warning | str) -> None:
    print(f"thresher: warning: {message}", file=sys.stderr)


def _report(message: str) -> None:
    with suppress(OSError):  # its reader has closed it
        print("thresher: " + " ".join(message.split()), file=sys.stderr)
