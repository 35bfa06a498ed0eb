"""Signals at any moment of a write: the file is the old one or the new one, whole."""

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from tests.common.examples import scaled

from rankdev.data.write import writing

ROUNDS = int(os.environ.get("RANKDEV_SIGNALS") or scaled(16, 4))
SIZE = 300_000
WRITER = """
import sys
from itertools import count
from rankdev.data.write import writing
print("ready", flush=True)
for i in count(1):
    with writing(sys.argv[1]) as stream:
        for _ in range(100):
            stream.write(b"%d" % (i % 10) * 3_000)
"""


@pytest.mark.parametrize("name", ["a.txt", "a.txt.gz"])
def test_a_signal_leaves_a_whole_file(tmp_path: Path, name: str) -> None:
    rng = random.Random(name)
    target = tmp_path / name
    with writing(target) as stream:
        stream.write(b"0" * SIZE)
    for _ in range(ROUNDS // 4):
        sent = rng.choice([signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
        command = [sys.executable, "-c", WRITER, str(target)]
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as process:
            assert process.stdout is not None
            process.stdout.readline()
            time.sleep(rng.random() * 0.1)
            process.send_signal(sent)
        content = _content(target)
        assert len(content) == SIZE
        assert len(set(content)) == 1
        left = [path for path in tmp_path.iterdir() if path != target]
        assert sent != signal.SIGINT or not left  # the process could clean up after itself
        for path in left:
            assert path.name.startswith(".rankdev.")
            path.unlink()
    with writing(target) as stream:
        stream.write(b"last")
    assert [path.name for path in tmp_path.iterdir()] == [name]
    assert _content(target) == b"last"


def _content(path: Path) -> bytes:
    import gzip

    return gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
