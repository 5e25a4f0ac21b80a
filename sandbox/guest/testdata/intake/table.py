"""The whole table of cases."""

from __future__ import annotations

import datetime as dt

import cases_delimited
import cases_kinds
import cases_refused
import cases_rules
from harness import Case


def cases(now: dt.datetime) -> list[Case]:
    """All cases, as they are for a reader whose clock says ``now``."""
    return [*cases_delimited.cases(), *cases_rules.cases(), *cases_kinds.cases(now), *cases_refused.cases()]
