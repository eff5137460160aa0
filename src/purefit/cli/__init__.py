"""The command `purefit`: one file per command, each a frozen dataclass of its options with a `run`.

Exit codes: 0 done; 2 wrong use or bad input (one line on stderr, a traceback with --debug); 3 training
diverged; 130 and 143 after Ctrl-C and SIGTERM.
"""

import gc
import os
import signal
import sys
import time
from types import FrameType

from purefit.errors import InputError

BEGAN = time.perf_counter()


def main(arguments: list[str] | None = None) -> int:
    """Runs the command and returns its exit code."""
    arguments = sys.argv[1:] if arguments is None else arguments
    debug = "--debug" in arguments
    gc.set_threshold(100_000)  # what importing and tracing make stays; looking through it takes a tenth of the start
    signal.signal(signal.SIGTERM, _terminate)
    try:
        from purefit.cli.parse import parse

        return parse(arguments).run()
    except InputError as error:
        if debug:
            raise
        print(f"purefit: {' '.join(str(error).split())}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        return 128 + signal.SIGINT
    except Terminated:
        return 128 + signal.SIGTERM
    except BrokenPipeError:
        # Whoever read our output has read enough. Python would complain again when it closes stdout.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0


class Terminated(BaseException):
    """SIGTERM came where there is nothing to save."""


def _terminate(_number: int, _frame: FrameType | None) -> None:
    raise Terminated
