"""ir_measures: after this import, its functions, its command and PyTerrier's Experiment compute our measures too.

Examples
--------
>>> from rankdev.integrations.ir_measures import RDQ
>>> import ir_measures
>>> ir_measures.calc_aggregate([RDQ(alpha=4) @ 5], {"q": {"d1": 2, "d2": 1}}, {"q": {"d1": 7.0, "d2": 3.0}})
{RDQ(alpha=4)@5: 1.0}
"""

from __future__ import annotations

import math
import sys
from collections.abc import Iterator
from typing import Any

from rankdev.data.ids import as_id
from rankdev.data.references import References
from rankdev.errors import MeasureError, MissingExtraError, RankdevError, nearest
from rankdev.evaluation.evaluate import evaluate
from rankdev.measures import REGISTRY, parse

try:
    import ir_measures
except ImportError:
    missing = MissingExtraError("ir_measures", "ir-measures", "our measures in ir_measures")
    if __name__ == "__main__":
        sys.exit(f"error: {missing}")
    raise missing from None


class MeanOfAvailable(ir_measures.measures.MeanAgg):  # type: ignore[misc]
    """The mean over the queries for which a measure is available."""

    def add(self, value: float) -> None:
        """Add a value, unless it is not available.

        Parameters
        ----------
        value : float
            Score of one query; NaN where the measure is not available.

        Examples
        --------
        >>> mean = MeanOfAvailable()
        >>> for value in (0.5, math.nan, 1.0):
        ...     mean.add(value)
        >>> mean.result()
        0.75
        """
        if not math.isnan(value):
            super().add(value)


class OurMeasure(ir_measures.Measure):  # type: ignore[misc]
    """One of our measures, with parameters as ir_measures keeps them.

    Parameters
    ----------
    **params : object
        Those of the measure.
    """

    def __init__(self, **params: Any) -> None:
        known = list(self.SUPPORTED_PARAMS)
        for name in params:
            if name not in known:
                where = {"measure": self.NAME, "near": nearest(name, known), "known": known}
                raise MeasureError("not-a-choice", name="parameter", value=name, **where)
        super().__init__(**{name: _python_value(value) for name, value in params.items()})

    def __reduce__(self) -> tuple[Any, ...]:
        return _measure, (self.NAME, self.params)

    @property
    def text(self) -> str:
        """The same measure as text of rankdev."""
        values = {name: value for name, value in self.params.items() if name not in ("cutoff", "normalize")}
        listed = ",".join(f"{name}={_written(value)}" for name, value in values.items())
        cutoff = f"@{self.params['cutoff']}" if "cutoff" in self.params else ""
        return str(parse(f"{self.NAME}({listed}){cutoff}"))

    @property
    def is_ours(self) -> bool:
        """Whether this is our Compat, which has a depth or a cutoff, and not theirs, which has neither."""
        return self.NAME != "Compat" or not {"cutoff", "depth"}.isdisjoint(self.params)

    def validate_params(self) -> None:
        """Refuse wrong parameters.

        Examples
        --------
        >>> RDQ(alpha=4).validate_params()
        """
        if self.is_ours and not self.params.get("normalize", True):
            raise MeasureError(
                "not-needed", measure=self.NAME, name="normalize", use="Compat without a cutoff or depth"
            )
        _ = self.is_ours and self.text

    def aggregator(self) -> Any:
        """Return the aggregator: the mean over queries for which the measure is available.

        Returns
        -------
        MeanOfAvailable
            A new aggregator.

        Examples
        --------
        >>> type(RDQ.aggregator()).__name__
        'MeanOfAvailable'
        """
        return MeanOfAvailable()


def _measure(name: str, params: dict[str, Any]) -> OurMeasure:
    """Restore a pickled measure."""
    return MEASURES[name](**params)


def _python_value(value: Any) -> Any:
    return value.tolist() if hasattr(value, "tolist") else value  # arrays of NumPy compare element by element


def _written(value: Any) -> str:
    return f"[{','.join(map(str, value))}]" if isinstance(value, list | tuple) else str(value)


def _made(name: str) -> OurMeasure:
    """Declare a measure as ir_measures expects it: an instance of a class of its own."""
    kind = REGISTRY[name]
    defaults = {"cutoff": None, **{entry.name: entry.default for entry in kind.parameters()}}
    known = {key: ir_measures.ParamInfo(default=default) for key, default in defaults.items()}
    if name == "Compat":
        known["normalize"] = ir_measures.ParamInfo(default=True)  # a parameter of theirs
    about = {"__doc__": kind.__doc__, "__name__": name, "NAME": name, "PRETTY_NAME": name, "SHORT_DESC": kind.meaning()}
    made: OurMeasure = type(name, (OurMeasure,), {**about, "SUPPORTED_PARAMS": known})()
    return made


class Rankdev(ir_measures.Provider):  # type: ignore[misc]
    """Computes our measures for ir_measures; tiers are passed as grades, the better the higher."""

    NAME = "rankdev"

    def supports(self, measure: Any) -> bool:
        """Test whether a measure is one of ours.

        Parameters
        ----------
        measure : ir_measures.Measure
            Any measure.

        Returns
        -------
        bool
            Whether this provider computes it.

        Examples
        --------
        >>> Rankdev().supports(RDQ @ 5), Rankdev().supports(ir_measures.AP)
        (True, False)
        """
        if not isinstance(measure, OurMeasure) or not measure.is_ours:
            return False
        measure.validate_params()
        return True

    def _evaluator(self, measures: Any, qrels: Any) -> Any:
        measures = list(measures)
        for measure in measures:
            if not self.supports(measure):
                known = list(MEASURES)
                raise MeasureError("not-a-choice", name="measure", value=str(measure), near=None, known=known)
        return _Evaluator(measures, ir_measures.util.QrelsConverter(qrels).as_dict_of_dict())


class _Evaluator(ir_measures.Evaluator):  # type: ignore[misc]
    def __init__(self, measures: list[Any], qrels: dict[Any, dict[Any, int]]) -> None:
        super().__init__(measures, set(qrels))
        self.names = {as_id(query): query for query in qrels}  # which may be numbers, and are returned as such
        self.references = References.from_grades(qrels) if qrels else None

    def _iter_calc(self, run: Any) -> Iterator[Any]:
        if self.references is None:
            return  # as in some batches of PyTerrier
        run = ir_measures.util.RunConverter(run).as_dict_of_dict()
        if not any(as_id(query) in self.names for query in run):
            run = {query: [] for query in self.names}  # rankdev refuses such a run; in ir_measures it scores 0
        texts = [measure.text for measure in self.measures]
        scores = evaluate(self.references, {"run": run}, texts)
        for measure, text in zip(self.measures, texts, strict=True):
            for query, value in zip(scores.queries, scores.of(text)[0].tolist(), strict=True):
                yield ir_measures.Metric(query_id=self.names[query], measure=measure, value=value)


def _install() -> dict[str, OurMeasure]:
    """Register the measures that ir_measures lacks, and our Compat next to its own; our provider comes first.

    Where it has a measure of the same name, it keeps it: the same text has the same value there and here.
    """
    known = ir_measures.measures.registry
    averaged = [name for name, kind in REGISTRY.items() if kind.aggregate != "geometric"]
    made = {name: _made(name) for name in averaged if name not in known or name == "Compat"}
    known.update(made)
    provider = ir_measures.providers.register(Rankdev())
    ir_measures.DefaultPipeline.providers.insert(0, provider)
    return made


MEASURES = _install()
RDQ, Compat, RBO, RBA = (MEASURES[name] for name in ("RDQ", "Compat", "RBO", "RBA"))
Tau, TauAP, Rho = (MEASURES[name] for name in ("Tau", "TauAP", "Rho"))
nERR = MEASURES["nERR"]  # noqa: N816, its name


def main() -> None:
    """Run the command of ir_measures with our measures; an error is one line.

    Examples
    --------
    >>> main()  # doctest: +SKIP
    """
    from ir_measures.__main__ import main_cli

    try:
        main_cli()
    except (RankdevError, ValueError, AssertionError, OSError) as error:
        sys.exit(f"error: {error}")


if __name__ == "__main__":
    main()
