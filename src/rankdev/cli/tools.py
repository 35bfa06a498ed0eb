"""Studies and tools: the paper's experiments, and the commands about rankdev itself."""

from __future__ import annotations

import re
import shlex
import sys
import tempfile
import webbrowser
from contextlib import chdir
from importlib.resources import as_file, files
from pathlib import Path
from textwrap import wrap
from typing import TYPE_CHECKING, Any

import click

from rankdev._common.lazy import pl
from rankdev.cli import Group, argument, cli, command, option, topics
from rankdev.cli.from_function import options_of
from rankdev.cli.inputs import by_name, chosen, import_option, measure_option
from rankdev.cli.outputs import (
    OUTPUT,
    PAGE,
    Output,
    figures_option,
    file_option,
    made_folder,
    working_progress,
    write_files,
)
from rankdev.commands import COMMANDS
from rankdev.errors import UsageError, nearest

if TYPE_CHECKING:
    from rankdev.measures import Measure


EVERYDAY = ("RDQ", "nDCG", "AP", "RR", "P", "R")  # come first


@command("measures", import_option, OUTPUT, example="rankdev measures --format csv")
def measures_command(output: Output) -> None:
    """List every measure with its parameters, their defaults and their possible values."""
    from rankdev.display.report import Report, Table
    from rankdev.measures import REGISTRY, load_installed

    load_installed()
    parts = [_rows(REGISTRY[name]) for name in dict.fromkeys([*EVERYDAY, *REGISTRY])]
    measures = [{**first, "parameters": ", ".join(map(_assigned, rows))} for first, *rows in parts]
    named = pl.DataFrame(measures).select("measure", "parameters", "meaning")
    every = pl.DataFrame([row for rows in parts for row in rows])
    known = every.filter(pl.col("parameter") != "").unique(["parameter", "meaning"], maintain_order=True)
    tables = [
        Table(named, prose=("parameters", "meaning")),
        Table(known.select("parameter", "meaning"), "Parameters", prose=("meaning",)),
    ]
    output.deliver(Report(every, tables))


def _assigned(row: dict[str, str]) -> str:
    return row["parameter"] if row["default"] in ("", "False") else f"{row['parameter']}={row['default']}"


def _rows(kind: type[Measure]) -> list[dict[str, str]]:
    source = f" ({kind.source})" if kind.source else ""
    first = {"measure": kind.name, "parameter": "", "default": "", "meaning": f"{kind.meaning()}{source}"}
    return [first, *({"measure": "", **_row(entry)} for entry in kind.parameters())]


def _row(entry: Any) -> dict[str, str]:
    usual = entry.default
    default = "" if usual is None else f"{usual:g}" if isinstance(usual, float) else str(usual)
    rule = {"help": "", "number": None, "choices": (), **entry.metadata}
    allowed = ", ".join(rule["choices"]) or (rule["number"].text if rule["number"] else "")
    return {"parameter": entry.name, "default": default, "meaning": rule["help"] + (f" ({allowed})" if allowed else "")}


@command(
    "demo",
    option("--save", metavar="DIR", help="Copy the data there instead, to try the commands by hand."),
    example="rankdev demo --save data",
)
def demo_command(save: str | None) -> None:
    """Score, explain and compare three systems on built-in data, up to a report on one page.

    Nothing is written to the current folder; the end of the output names the report.
    """
    with as_file(files("rankdev").joinpath("data/demo")) as folder:
        if save is not None:
            _save(folder, Path(save))
            return
        here = Path(tempfile.mkdtemp(prefix="rankdev-demo-"))
        for source in folder.iterdir():
            (here / source.name).write_bytes(source.read_bytes())
    with chdir(here):
        for line in files("rankdev").joinpath("cli/demo.md").read_text("utf-8").splitlines():
            if line.startswith("$ "):
                click.secho(_folded(line) + "\n", dim=True)
                sys.stdout.flush()
                _run(shlex.split(line)[2:])
            elif line.startswith("# "):
                click.secho(line[2:], bold=True)
            else:
                click.echo(here / line if line == "report.html" else line)


def _run(arguments: list[str]) -> None:
    cli.main(arguments, prog_name=click.get_current_context().find_root().info_name, standalone_mode=False)


def _folded(line: str) -> str:
    """Break a command into lines of 80 columns as a shell allows, never between an option and its value."""
    whole = re.sub(r"(?<= )(--?\w+) (?!-)", r"\1\0", line)
    parts = wrap(whole, 77, subsequent_indent="    ", break_long_words=False, break_on_hyphens=False)
    return " \\\n".join(parts).replace("\0", " ")


def _save(folder: Path, target: Path) -> None:
    made_folder(str(target))
    files = {target / source.name: source.read_bytes() for source in folder.iterdir()}
    for there, content in files.items():
        if there.exists() and there.read_bytes() != content:
            raise UsageError("other-file", path=there)
    write_files({str(there): content for there, content in files.items()})
    click.echo(f"{target}: places.jsonl, nearest.run, popular.run, blended.run and others")


@command(
    "playground",
    file_option("-o", "--output", check=PAGE, help="Write the page here (.html) instead of opening it."),
    example="rankdev playground -o playground.html",
)
def playground_command(output: str | None) -> None:
    """Open a page on which to drag items and weights, and see how RDQ changes and what each position gains.

    The page is one file that works without a network. It begins with a short tour.
    """
    from rankdev.html_report.playground import playground

    target = output or str(Path(tempfile.mkdtemp(prefix="rankdev-")) / "playground.html")
    write_files({target: playground().encode()})
    if output is None:
        opened = webbrowser.open(Path(target).as_uri())
        click.echo(target if opened else f"no browser could be opened; the page is {target}")


def _explained() -> list[str]:
    return [*topics(), *COMMANDS]


def _complete(ctx: click.Context, param: click.Parameter, begun: str) -> list[str]:
    return sorted(name for name in {*_explained()} if name.startswith(begun))


@command(
    "help",
    click.Argument(["words"], nargs=-1, metavar="[TOPIC|COMMAND]", shell_complete=_complete),
    example="rankdev help runs",
)
def help_command(words: tuple[str, ...]) -> None:
    """Explain a topic or a command; without one, list the topics."""
    if not words:
        click.echo("Topics (rankdev help TOPIC):")
        for name, (summary, _) in topics().items():
            click.echo(f"  {name:<10}  {summary}")
        click.echo("\nrankdev help COMMAND, or rankdev COMMAND --help, shows the options of a command;")
        click.echo("rankdev --help lists the commands.")
    elif words[0] in topics() and len(words) == 1:
        click.echo(topics()[words[0]][1])
    elif words[0] in _explained():
        _run([*words, "--help"])
    else:
        near = nearest(words[0], _explained())
        raise UsageError("unknown-name", what="topic or command", value=words[0], near=near, see="rankdev help")


@command(
    "completion",
    click.Argument(["shell"], type=click.Choice(["bash", "zsh", "fish"])),
    example="rankdev completion bash",
)
def completion_command(shell: str) -> None:
    """Print the completion script, for example: rankdev completion bash >> ~/.bashrc."""
    from click.shell_completion import get_completion_class

    kind = get_completion_class(shell)
    if kind is not None:
        click.echo(kind(cli, {}, "rankdev", "_RANKDEV_COMPLETE").source())


study_command = Group(
    "study",
    help="Rerun the paper's experiments and show its published numbers next to the new ones.",
    epilog="Example: rankdev study poi --quick",
)


@command("controlled", OUTPUT, group=study_command, example="rankdev study controlled")
def controlled_command(output: Output) -> None:
    """Table 1: 13 controlled examples under 11 measures."""
    from rankdev.studies.controlled import controlled_report, run_controlled

    output.deliver(controlled_report(run_controlled()))


@command(
    "poi",
    option("--references", metavar="FILE", help="Your references, in any format; see help files."),
    option("--runs", metavar="DIR", help="Your runs, one file per system."),
    *options_of("rankdev.studies.poi:run_poi", "quick", "seed"),
    figures_option("figure1.png (sensitivity), power.png and stability.png"),
    OUTPUT,
    group=study_command,
    example="rankdev study poi --quick",
)
def poi_command(
    references: str | None, runs: str | None, quick: bool, seed: int, figures: str | None, output: Output
) -> None:
    """Tables 2 and 3, Figure 1: points of interest.

    Without --references and --runs, the data are simulated to resemble those of the paper.
    """
    from rankdev.data.files import runs_in
    from rankdev.studies.poi import poi_report, run_poi, save_poi_figures

    systems = None if runs is None else runs_in(runs)
    with working_progress("points of interest") as progress:
        study = run_poi(references, systems, quick=quick, seed=seed, progress=progress)
    if figures is not None:
        save_poi_figures(study, figures)
    output.deliver(poi_report(study))


@command(
    "track",
    argument("files", metavar="REFERENCES RUNS [REFERENCES RUNS]...", nargs=-1, required=True),
    measure_option("For example RDQ@5; repeat, or use commas. Default: paper@10."),
    import_option,
    *options_of("rankdev.studies.track:run_track", "n", "sizes", "grid", "replacement", "quick", "seed"),
    figures_option("figure1.png (sensitivity), figure2.png (agreement), power.png and stability.png"),
    OUTPUT,
    group=study_command,
    example="rankdev study track qrels.txt runs/ -m RDQ@10,nDCG@10 --quick --figures figures/",
)
def track_command(
    files: tuple[str, ...], measures: tuple[str, ...], figures: str | None, output: Output, **options: Any
) -> None:
    """Tables 2 to 4, Figures 1 and 2: any track, any measures.

    REFERENCES are grades or any other references, whose file names a collection; RUNS is a folder with one file per
    system. Several collections with the same systems are pooled; Figure 2 shows them side by side. It compares the
    measures named as the first one with all others.
    """
    from rankdev.data.files import runs_in, system_name
    from rankdev.studies.track import run_track, save_track_figures, track_report

    references, folders = files[::2], files[1::2]
    if len(references) != len(folders):
        raise UsageError("unequal", names=["REFERENCES", "RUNS"], counts=[len(references), len(folders)])
    found = (
        (system_name(path), path, (path, runs_in(folder))) for path, folder in zip(references, folders, strict=True)
    )
    collections = by_name(found, "same-name", "collections")
    with working_progress("the track") as progress:
        study = run_track(collections, measures, progress=progress, **chosen(**options))
    if figures is not None:
        save_track_figures(study, figures)
    output.deliver(track_report(study))
