"""Time RDQ of tensors, and its soft form with gradient, on CPU and GPU: python -m benchmarks.tensors [--keep]."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable

import torch
from benchmarks.history import Row, report

from rankdev.integrations.torch import rdq, soft_rdq

QUERIES, ITEMS, M = 10_000, 100, 20


def seconds(work: Callable[[], object], device: str) -> float:
    """Return the least of five times, after a warm-up."""
    times = []
    for _ in range(6):
        begin = time.perf_counter()
        work()
        if device == "cuda":
            torch.cuda.synchronize()
        times.append(time.perf_counter() - begin)
    return min(times[1:])


def main() -> None:
    """Score a million rows, 100 for each query, of which 20 are in the reference."""
    torch.manual_seed(0)
    scores = torch.randn(QUERIES, ITEMS)
    ranks = torch.rand(QUERIES, ITEMS).argsort(1) + 1
    ranks = torch.where(ranks <= M, ranks, 0)
    on_cpu = rdq(scores, ranks)
    gpu = torch.cuda.get_device_name() if torch.cuda.is_available() else None
    rows: list[Row] = []
    for device in ("cpu", "cuda") if gpu else ("cpu",):
        s, r = scores.to(device), ranks.to(device)
        leaf = s.clone().requires_grad_()
        hard = seconds(lambda s=s, r=r: rdq(s, r), device)
        soft = seconds(lambda leaf=leaf, r=r: soft_rdq(leaf, r).sum().backward(), device)
        rows.append(
            {
                "device": f"CPU, {torch.get_num_threads()} threads" if device == "cpu" else gpu,
                "`rdq`, ms": hard * 1e3,
                "`soft_rdq` with its gradient, ms": soft * 1e3,
                "largest difference from the CPU": f"{(rdq(s, r).cpu() - on_cpu).abs().max():.1e}",
            }
        )
    report("Tensors", rows, keep="--keep" in sys.argv, device=gpu)


if __name__ == "__main__":
    main()
