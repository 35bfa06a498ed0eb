"""What a piece of work holds in memory."""

import tracemalloc
from collections.abc import Callable


def peak(work: Callable[[], object]) -> float:
    """Run something, and return the most megabytes that it held at a time."""
    tracemalloc.start()
    try:
        work()
        return tracemalloc.get_traced_memory()[1] / 2**20
    finally:
        tracemalloc.stop()
