"""The base class of results: tables, text, notebooks, figures."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, ClassVar

from rankdev._common.view import View
from rankdev.errors import MissingExtraError

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl
    from matplotlib.figure import Figure


class Tabular(ABC):
    """An object that can be turned into a polars or pandas table."""

    @abstractmethod
    def to_polars(self) -> pl.DataFrame:
        """Return the object as a table.

        Returns
        -------
        polars.DataFrame
            One row per entry, with named columns.
        """

    def to_pandas(self) -> pd.DataFrame:
        """Return the table of :meth:`to_polars` as a pandas frame; needs pandas, not pyarrow.

        Returns
        -------
        pandas.DataFrame
            The same columns and rows.

        Examples
        --------
        >>> import rankdev as rd
        >>> list(rd.Run.from_scores({"q": {"d1": 0.5}}).to_pandas().columns)
        ['query', 'item', 'rank', 'score']
        """
        try:
            import pandas as pd
        except ImportError:
            raise MissingExtraError("pandas", "pandas", "to_pandas()") from None
        frame = self.to_polars()
        return pd.DataFrame({name: frame[name].to_list() for name in frame.columns})


class Result(Tabular):
    """Base class of results: a table, its parameters, and how to show it.

    A result is a frozen dataclass. It names in ``made_with`` the fields that record how it was computed, and lists in
    ``remarks`` whatever a reader should know before using it. Its ``view`` declares how it looks.

    Examples
    --------
    >>> import rankdev as rd
    >>> result = rd.explain(["d1", "d2"], ["d2", "d1"], k=2)
    >>> isinstance(result, rd.Result), result.parameters
    (True, {'measure': 'RDQ@2'})
    """

    made_with: ClassVar[tuple[str, ...]] = ()
    view: ClassVar[View] = View()

    @property
    def remarks(self) -> tuple[str, ...]:
        """What was left out, repaired or is uncertain, in a sentence each."""
        return ()

    @property
    def parameters(self) -> dict[str, Any]:
        """Parameters that the result was computed with, by name; the seed included where one was used."""
        made = {name: getattr(self, name) for name in self.made_with if name not in self._unused}
        return {name: value for name, value in made.items() if value is not None}

    @property
    def _unused(self) -> tuple[str, ...]:
        """Parameters that had no part in this result, such as the seed where nothing was drawn."""
        return ()

    def summary(self) -> pl.DataFrame:
        """Return a short table that sums up the result.

        Returns
        -------
        polars.DataFrame
            The table of :meth:`to_polars`, unless a class has a shorter one.

        Examples
        --------
        >>> import rankdev as rd
        >>> rd.explain(["d1", "d2"], ["d2", "d1"], measure="AP@2").summary()["score"].item()
        1.0
        """
        return self.to_polars()

    def plot(self, **options: Any) -> Figure:
        """Draw the result; needs Matplotlib.

        Parameters
        ----------
        **options : Any
            Options of the figure of this class of results.

        Returns
        -------
        matplotlib.figure.Figure
            Shows itself in a notebook; ``figure.savefig`` writes it to a file.

        Examples
        --------
        >>> import rankdev as rd
        >>> figure = rd.explain(["d1", "d2"], ["d2", "d1"], k=2).plot()
        """
        from rankdev.display.figures import figure_of  # draws what is declared here

        return figure_of(self, **options)

    def __str__(self) -> str:
        from rankdev.display.view import text_of

        return text_of(self)

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        """Show the table, not the fields, where IPython shows text."""
        from rankdev.display.view import text_of

        printer.text("…" if cycle else text_of(self, short=True))

    def _repr_html_(self) -> str:
        from rankdev.display.view import html_of

        return html_of(self)
