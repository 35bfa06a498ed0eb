"""How much a random test tries: a tenth in `make test`, twice as much in `make test-all`."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any, TypeVar

from hypothesis import settings

Value = TypeVar("Value")
PROFILES = {"fast": 0.1, "thorough": 2.0}
PROFILE = os.environ.get("RANKDEV_PROFILE", "fast")
FACTOR = PROFILES[PROFILE]


def scaled(number: int, fewest: int = 5) -> int:
    """How many of ``number`` examples, files or rounds this profile tries."""
    return max(min(number, fewest), round(number * FACTOR))


def some(values: Sequence[Value], place: int, step: int = 3) -> Sequence[Value]:
    """One in so many values in `make test`, others at another place; all in `make test-all`."""
    return values[place % step :: step] if PROFILE == "fast" else values


def examples(number: int, **options: Any) -> settings:
    """Settings of Hypothesis for a test that tries ``number`` examples, scaled by the profile."""
    return settings(max_examples=scaled(number), **options)
