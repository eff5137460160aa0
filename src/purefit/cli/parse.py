"""From the command line to one command's options. Wrong use is one line, like every mistake."""

import contextlib
import io
import re
from typing import Annotated, Protocol, runtime_checkable

import tyro

import purefit
from purefit.cli.bench import Bench
from purefit.cli.compare import Compare
from purefit.cli.evaluate import Evaluate
from purefit.cli.predict import Predict
from purefit.cli.report import Report
from purefit.cli.resume import Resume
from purefit.cli.runs import Runs
from purefit.cli.train import Train
from purefit.cli.tune import Tune
from purefit.errors import InputError


@runtime_checkable
class Command(Protocol):
    """What every command is: options that can be run."""

    def run(self) -> int: ...


Commands = (
    Annotated[Train, tyro.conf.subcommand("train")]
    | Annotated[Resume, tyro.conf.subcommand("resume")]
    | Annotated[Evaluate, tyro.conf.subcommand("evaluate")]
    | Annotated[Predict, tyro.conf.subcommand("predict")]
    | Annotated[Compare, tyro.conf.subcommand("compare")]
    | Annotated[Tune, tyro.conf.subcommand("tune")]
    | Annotated[Bench, tyro.conf.subcommand("bench")]
    | Annotated[Report, tyro.conf.subcommand("report")]
    | Annotated[Runs, tyro.conf.subcommand("runs")]
)
NAMES = ("train", "resume", "evaluate", "predict", "compare", "tune", "bench", "report", "runs")


def parse(arguments: list[str]) -> Command:
    """The command that the arguments ask for. Raises InputError for wrong use; exits after --help."""
    if arguments == ["--version"]:
        print(purefit.__version__)
        raise SystemExit(0)
    complaint = io.StringIO()
    try:
        with contextlib.redirect_stderr(complaint):
            command: Command = tyro.cli(
                Commands,
                prog="purefit",
                description="Train neural networks on JAX as pure functions.",
                args=arguments or ["--help"],
                config=(tyro.conf.OmitArgPrefixes, tyro.conf.FlagCreatePairsOff),
            )
            return command
    except SystemExit as error:
        if error.code in (0, None):
            raise
        help_of = " ".join(["purefit", *(arguments[:1] if arguments[0] in NAMES else []), "--help"])
        raise InputError(f"{one_line(complaint.getvalue())}; see {help_of}") from None


def one_line(complaint: str) -> str:
    """What tyro complains of, without its frames, colours and explanations.

    >>> one_line("╭─ Error ─╮\\n│ Unrecognized options: --epoch │\\n│ Perhaps you meant: --epochs INT │\\n╰──╯")
    'Unrecognized options: --epoch; perhaps you meant --epochs'
    """
    plain = re.sub(r"\x1b\[[0-9;]*m", "", complaint)
    # Frames are lines of their own, drawn with dashes where the terminal has no better characters.
    framed = re.compile(r"^[╭╰+]|[-─]{3,}[\s+|│]*$")
    text = " ".join(line.strip("│|\t ") for line in plain.splitlines() if not framed.search(line)).strip()
    text = re.split(r"\s*(?:For full helptext|Argument helptext:)", text)[0].rstrip(".")
    problem, _, rest = text.partition(" Perhaps you meant: ")
    return problem + (f"; perhaps you meant {rest.split()[0]}" if rest else "")
