"""The whole table of cases."""

from __future__ import annotations

import datetime as dt

import cases_again
import cases_delimited
import cases_dumps
import cases_kinds
import cases_locales
import cases_more
import cases_refused
import cases_rules
import cases_tools
from harness import Case


def cases(now: dt.datetime) -> list[Case]:
    """All cases, as they are for a reader whose clock says ``now``."""
    return [*cases_delimited.cases(), *cases_rules.cases(), *cases_kinds.cases(now), *cases_more.cases(), *cases_tools.cases(), *cases_locales.cases(), *cases_dumps.cases(), *cases_again.cases(), *cases_refused.cases()]
