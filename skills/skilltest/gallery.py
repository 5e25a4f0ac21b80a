"""Draw the gallery: charts of data that is hard to draw, judged by structure.

Writes /workspace/out/NN-name.png and contact-sheet.png, and prints one JSON
object: {"charts": [{"name", "width", "height", "texts": […], "faults": [text, …]}],
"control": [text, …], "warnings": [text, …]}. "control" are the faults of a
chart that is drawn badly on purpose: the judge must find them.
"""

import json
import math
import os
import warnings

import matplotlib.pyplot as plt
import numpy
import pandas

from sandpiper import charts

OUT = "/workspace/out"
random = numpy.random.default_rng(20261129)


def long_labels():
    names = [
        "Reinforced polyethylene drainage pipe, 200 mm, grey, with sealing ring (pallet of 24)",
        "Stainless steel hexagon head bolt M12×80 DIN 933 A4-70, box of 50 pieces",
        "Donaudampfschifffahrtselektrizitätenhauptbetriebswerkbauunterbeamtengesellschaft",
        "Price $5 to $10 and _under_ ^over^",
        "Short",
        "Another name that needs two lines to be told whole",
    ]
    return charts.bars(
        pandas.Series([182_400.5, 96_310, 54_020, 33_900, 12_345, 870], index=names),
        title="Revenue by product, with names as the warehouse writes them and a title that is itself far too long for one line of a picture of this width",
        unit="€",
        language="en",
    )


def forty_categories():
    values = numpy.round(12_000 / (numpy.arange(40) + 1.5), 0)
    return charts.bars(
        pandas.Series(values, index=[f"Branch {n + 1:02d}" for n in range(40)]), title="Orders by branch", language="en"
    )


def five_years_of_days():
    days = pandas.date_range("2021-01-01", "2025-12-31", freq="D")
    season = 900 + 250 * numpy.sin(numpy.arange(len(days)) * 2 * math.pi / 365.25)
    frame = pandas.DataFrame(
        {
            "Online": season + random.normal(0, 60, len(days)),
            "Shops": season[::-1] * 0.6 + random.normal(0, 40, len(days)),
        },
        index=days,
    )
    return charts.lines(frame, title="Visitors a day, 2021 to 2025", value="Visitors", language="en")


def negative_and_huge():
    values = pandas.Series(
        {
            "Energy": 4.2e12,
            "Mining": -1.9e12,
            "Retail": 8.1e11,
            "Shipping": -3.3e10,
            "Fishing": 2.5e6,
            "Crafts": -410.5,
            "None": 0.0,
        }
    )
    return charts.bars(values, title="Result by sector", unit="JPY", language="en")


def one_point():
    return charts.lines(
        pandas.Series([42.5], index=pandas.to_datetime(["2026-03-05"]), name="Temperature"),
        title="One measurement",
        unit="°C",
        value="Temperature",
        language="en",
    )


def no_values():
    return charts.bars(
        pandas.Series([float("nan"), float("inf")], index=["a", "b"]), title="Nothing to show", language="en"
    )


def cyrillic():
    names = [
        "Санкт-Петербург и Ленинградская область",
        "Ростов-на-Дону",
        "Нижний Новгород",
        "Йошкар-Ола",
        "Южно-Сахалинск",
        "Ёлкино",
    ]
    return charts.bars(
        pandas.Series([1_234_567.8, 870_000, 655_431, 120_000, -45_000, 900], index=names),
        title="Выручка по городам",
        unit="₽",
        value="Выручка",
        language="ru",
    )


def cjk_and_emoji():
    names = [
        "東京都千代田区",
        "上海市浦东新区",
        "서울특별시 강남구",
        "大阪府大阪市北区梅田一丁目一番地大阪駅前第三ビル地下二階",
        "🚀 Rockets",
        "☕ Café",
        "Ελλάδα",
        "Việt Nam",
    ]
    return charts.bars(
        pandas.Series([88, 76, 64, 51, 40, 33, 21, 10], index=names),
        title="店舗別の売上 · 매출 · 销售额 🎉",
        unit="百万円",
        language="en",
    )


def many_lines():
    weeks = pandas.date_range("2026-01-05", periods=26, freq="W-MON")
    frame = pandas.DataFrame(
        {f"Region {chr(65 + n)}": 100 + n * 1.5 + random.normal(0, 2, 26).cumsum() for n in range(12)}, index=weeks
    )
    return charts.lines(
        frame, title="Twelve regions that end close together", value="Index, start = 100", language="en"
    )


def negative_stack():
    months = pandas.date_range("2025-09-01", periods=8, freq="MS")
    frame = pandas.DataFrame(
        {
            "Продажи": [12e6, 14e6, 13.5e6, 18e6, 9e6, 11e6, 12e6, 15e6],
            "Возвраты": [-1e6, -2e6, -1.5e6, -4e6, -2.5e6, -1e6, -1.2e6, -1e6],
            "Налоги": [-2e6] * 8,
        },
        index=months,
    )
    return charts.columns(frame, title="Движение денег по месяцам", unit="₽", stacked=True, language="ru")


def minutes():
    moments = pandas.date_range("2026-03-28 22:10", periods=240, freq="min")
    return charts.lines(
        pandas.Series(random.gamma(2, 40, 240), index=moments, name="p95"),
        title="Response time over midnight",
        unit="ms",
        value="95th percentile",
        language="en",
    )


def heavy_tail():
    return charts.histogram(
        pandas.Series(numpy.append(random.lognormal(3, 1.1, 5000), 1e6), name="Order value"),
        title="Order values with one that is a mistake",
        unit="€",
        language="en",
    )


def crossing():
    frame = pandas.DataFrame(
        random.normal(0, 4e6, (9, 12)),
        index=[f"Отдел {n}: снабжение и логистика" for n in range(1, 10)],
        columns="янв фев мар апр май июн июл авг сен окт ноя дек".split(),
    )
    return charts.heat(frame, title="Отклонение от плана", unit="₽", language="ru")


def tiny_values():
    return charts.scatter(
        pandas.Series(random.uniform(1e-6, 9e-6, 400), name="Current, A"),
        pandas.Series(random.uniform(-3e9, 5e9, 400), name="Resistance, Ω"),
        title="Very small against very large",
        language="en",
    )


def many_columns():
    return charts.columns(
        pandas.DataFrame(
            {"2024": range(10, 34), "2025": range(33, 9, -1)}, index=[f"Warehouse number {n}" for n in range(24)]
        ),
        title="Twenty-four places side by side",
        unit="t",
        language="en",
    )


def main() -> dict:
    os.makedirs(OUT, exist_ok=True)
    told, paths = [], []
    for n, draw in enumerate(
        (
            long_labels,
            forty_categories,
            five_years_of_days,
            negative_and_huge,
            one_point,
            no_values,
            cyrillic,
            cjk_and_emoji,
            many_lines,
            negative_stack,
            minutes,
            heavy_tail,
            crossing,
            tiny_values,
            many_columns,
        ),
        start=1,
    ):
        figure = draw()
        wrong = [str(fault) for fault in charts.faults(figure)]
        texts = [t.get_text() for t in charts.texts(figure)]
        path = charts.save(figure, f"{OUT}/{n:02d}-{draw.__name__.replace('_', '-')}.png")
        height, width = plt.imread(path).shape[:2]
        told.append({"name": draw.__name__, "width": width, "height": height, "texts": texts, "faults": wrong})
        paths.append(path)
    contact_sheet(paths)
    return {"charts": told, "control": control()}


def control() -> list[str]:
    """The faults of a bad chart: names over each other, and one beyond the edge."""
    figure, axes = plt.subplots(figsize=(4, 3))
    axes.bar(range(12), range(12))
    axes.set_xticks(range(12), [f"a rather long name {n}" for n in range(12)])
    axes.text(13, 5, "this text runs off the picture on its right side")
    found = [str(fault) for fault in charts.faults(figure)]
    plt.close(figure)
    return found


def contact_sheet(paths: list[str]) -> None:
    figure, places = plt.subplots(
        math.ceil(len(paths) / 3), 3, figsize=(24, 4.6 * math.ceil(len(paths) / 3)), layout="constrained"
    )
    for axes in places.flat:
        axes.set_axis_off()
    for axes, path in zip(places.flat, paths):
        axes.imshow(plt.imread(path))
        axes.set_title(os.path.basename(path), fontsize=11, loc="left")
    figure.savefig(f"{OUT}/contact-sheet.png", dpi=80)
    plt.close(figure)


with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    result = main()
print(json.dumps(result | {"warnings": sorted({str(w.message) for w in caught})}, ensure_ascii=False))
