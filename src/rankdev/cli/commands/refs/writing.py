"""Writing references, and tables beside them."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import ExitStack
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from rankdev.cli.outputs import encoded_table, file_option
from rankdev.cli.terminal import say
from rankdev.errors import counted

if TYPE_CHECKING:
    from rankdev.references.references import References


def _check_output(path: str) -> None:
    from rankdev.formats.names import check_trec_name

    check_trec_name(path)


output_option = file_option(
    "-o", "--output", default="-", check=_check_output, help="Default: JSONL on standard output."
)


def write(references: References, output: str) -> None:
    """Write references, and say how many there are."""
    write_files(references, output)
    tiers = counted(int(references.tier_counts.sum()), "tier")
    empty = references.empty
    remark = f"; {counted(empty, 'query', 'has')} no reference item" if empty else ""
    say(f"{counted(len(references), 'query')}, {counted(len(references.ranks), 'item')} in {tiers}{remark}")


def write_files(references: References, output: str, tables: Mapping[str, Any] = MappingProxyType({})) -> None:
    """Write references, and tables by file name beside them; no file appears unless all can be written."""
    from rankdev.formats.references import encode_references
    from rankdev.formats.writing import writing

    contents = [(output, encode_references(references, output))]
    contents += [(path, encoded_table(frame, path)) for path, frame in tables.items()]
    with ExitStack() as stack:
        streams = [stack.enter_context(writing(path)) for path, _ in contents]
        for stream, (_, content) in zip(streams, contents, strict=True):
            stream.write(content)
