"""Does once, on a table of two rows, what most programs begin with.

Importing it is all: an idle session does, after the libraries. Much of them is
only loaded and looked up at first use (parsers, fonts, renderers), and so it is
there before anybody waits. Nothing of it stays to be seen: no figure, no file,
no setting.
"""

import io

import pandas
from matplotlib import pyplot


def _table():
    table = pandas.read_csv(io.StringIO("date,region,amount\n2020-01-01,North,1.5\n2020-01-08,South,2.5\n"), parse_dates=["date"])
    totals = table.groupby("region")["amount"].agg(["sum", "mean", "count"]).reset_index()
    table.groupby(table["date"].dt.to_period("M"))["amount"].sum()
    table.pivot_table(index="region", values="amount", aggfunc="sum")
    table.merge(totals, on="region").sort_values("amount").describe()
    repr(totals)
    return totals


def _chart(totals):
    figure, axes = pyplot.subplots()
    axes.bar(totals["region"], totals["sum"])
    axes.plot(totals["region"], totals["mean"], label="mean")
    axes.set_title("Rehearsal")
    axes.legend()
    figure.savefig(io.BytesIO(), format="png")
    pyplot.close(figure)


_chart(_table())
