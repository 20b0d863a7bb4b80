"""Tests and validated notebooks run in the environment of `make book`."""

import hypothesis

from tools import environment

environment.prepare()

# no deadline: on a busy machine, or while a kernel compiles, an example may take seconds;
# the same examples at every run
hypothesis.settings.register_profile("dpregret", deadline=None, derandomize=True)
hypothesis.settings.load_profile("dpregret")
