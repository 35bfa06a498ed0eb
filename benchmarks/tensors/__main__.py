"""Time RDQ of tensors, and its soft form with gradient, on the CPU and on the GPU: python -m benchmarks.tensors."""

from __future__ import annotations

import time
from collections.abc import Callable

import torch

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
    values = {}
    for device in ("cpu", "cuda") if torch.cuda.is_available() else ("cpu",):
        s, r = scores.to(device), ranks.to(device)
        leaf = s.clone().requires_grad_()
        values[device] = rdq(s, r).cpu()
        hard = seconds(lambda s=s, r=r: rdq(s, r), device)
        soft = seconds(lambda leaf=leaf, r=r: soft_rdq(leaf, r).sum().backward(), device)
        name = torch.cuda.get_device_name() if device == "cuda" else f"CPU, {torch.get_num_threads()} threads"
        print(f"{name}: a million rows in {hard * 1e3:.1f} ms; soft, with gradient, {soft * 1e3:.1f} ms")
    if len(values) > 1:
        print(f"largest difference between devices: {(values['cpu'] - values['cuda']).abs().max():.1e}")


if __name__ == "__main__":
    main()
