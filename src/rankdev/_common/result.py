"""What every result can do: be a table, be printed, show itself in a notebook, be drawn."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from rankdev._common.tables import Tabular

if TYPE_CHECKING:
    import polars as pl
    from matplotlib.figure import Figure


class Result(Tabular):
    """The answer to a question: facts as a table, and how they were obtained.

    A result is a frozen dataclass. It names in ``made_with`` the fields that say how it was made, and records in
    ``remarks`` whatever a reader should know before believing it. How it looks is decided by the module
    named in ``display``, which registers a report and a figure of the class.
    """

    made_with: ClassVar[tuple[str, ...]] = ()
    display: ClassVar[str] = ""

    @property
    def remarks(self) -> tuple[str, ...]:
        """What was left out, repaired or is doubtful, in a sentence each."""
        return ()

    @property
    def parameters(self) -> dict[str, Any]:
        """How the result was made: each parameter by name, the seed included where there is one."""
        return {name: getattr(self, name) for name in self.made_with}

    def summary(self) -> pl.DataFrame:
        """Sum the result up as a short table."""
        return self.to_polars()

    def plot(self, **options: Any) -> Figure:
        """Draw the result; the figure shows itself in a notebook, and ``figure.savefig`` writes it."""
        from rankdev.display.dispatch import figure_of

        return figure_of(self, **options)

    def __str__(self) -> str:
        from rankdev.display.dispatch import text_of

        return text_of(self)

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        """Show the table, not the fields, where IPython shows text."""
        printer.text("…" if cycle else str(self))

    def _repr_html_(self) -> str:
        from rankdev.display.dispatch import html_of

        return html_of(self)
