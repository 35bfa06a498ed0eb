"""Figure 2: how RDQ and other measures agree on the order of systems, year by year."""

from __future__ import annotations

from pathlib import Path

from rankdev.reporting.plots import plot_agreement, save
from rankdev.studies.trec_dl.study import BASELINES, RDQ, TrecDl


def save_trec_dl_figures(study: TrecDl, folder: str | Path) -> list[Path]:
    """Write figure2.png, and give its path; nothing where there are no runs."""
    if study.agreement is None:
        return []
    target = Path(folder)
    target.mkdir(parents=True, exist_ok=True)
    return [save(plot_agreement(study.agreement, RDQ, BASELINES), target / "figure2.png")]
