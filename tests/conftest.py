import os
import signal

from hypothesis import settings

from tests.common.examples import PROFILE, scaled

# a busy machine is no failure, and `make test` tries the same examples every time
settings.register_profile(PROFILE, max_examples=scaled(100), derandomize=PROFILE == "fast", deadline=None)
settings.load_profile(PROFILE)
os.environ.pop("COLUMNS", None)  # tables in tests are 80 columns wide
signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell that starts tests in the background has it ignored
