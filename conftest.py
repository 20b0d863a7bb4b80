"""Tests and validated notebooks run in the environment of `make book`."""

from tools import environment

environment.prepare()
