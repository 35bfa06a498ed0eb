"""What the fuzzers share: one knob for how much they try, and files made from a seed."""

import os
from collections.abc import Iterator
from random import Random

from tests.common.examples import scaled

# files that each fuzzer makes; `make fuzz` asks for 30,000
FILES = int(os.environ.get("RANKDEV_FUZZ") or scaled(300))
SLOW = max(scaled(40), FILES // 20)  # for fuzzers that do more with each file

IDS = ["d1", "d2", "d3", "q1", "x^2", "é", "7", "-0", "a,b", "#c", "null", "1e5"]
IDS += ['"q"', "'", "\u00a0a", "\x0b", "d\x0c"]
NUMBERS = ["1", "9", "0.5", "-3", "1e3", "+.5", "5.", "1E-2", "007", "1e-400", "-0", "0.1234567890123456789", "1e22"]
NO_NUMBERS = ["x", "nan", "inf", "1_0", "0x1", "1e999", "١", "1e", "1,5", "--1", "Infinity", "-"]


def seeds(count: int = FILES) -> Iterator[Random]:
    """Give a source of chance for each file, the same in every run, so that a failure can be repeated."""
    return (Random(seed) for seed in range(count))
