"""Verdict cards, marked numbers, tables and figures: what the notebooks show, and what the build reads back."""

from evidence.report.claims import Card, collect, holds_if, verdict
from evidence.report.figures import BAND_NOTE, band, colormap, panels, publish
from evidence.report.numbers import MARKED, approx, glue, mean_se, short
from evidence.report.register import Claim, Fault, Register, expected, load_register, load_registers
from evidence.report.series import (
    BLACK,
    BLUE,
    GREEN,
    GREY,
    ORANGE,
    PURPLE,
    RED,
    SKY,
    register_series,
    series,
    style,
)
from evidence.report.tables import Rows, show, table

__all__ = [
    "BAND_NOTE",
    "BLACK",
    "BLUE",
    "GREEN",
    "GREY",
    "MARKED",
    "ORANGE",
    "PURPLE",
    "RED",
    "SKY",
    "Card",
    "Claim",
    "Fault",
    "Register",
    "Rows",
    "approx",
    "band",
    "collect",
    "colormap",
    "expected",
    "glue",
    "holds_if",
    "load_register",
    "load_registers",
    "mean_se",
    "panels",
    "publish",
    "register_series",
    "series",
    "short",
    "show",
    "style",
    "table",
    "verdict",
]
