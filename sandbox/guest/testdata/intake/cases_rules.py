"""The reading rules, each with several separators and scripts."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal as D
from typing import Any

from harness import Case, Column, Style, table_case


def cases() -> list[Case]:
    return [*_identifiers(), *_missing(), *_numbers(), *_units(), *_dates(), *_zones(), *_headers(), *_frames(), *_ragged(), *_mixed()]


def plain(name: str, text: str, encoding: str = "utf-8", **expect: Any) -> Case:
    """A case of a file given as it is."""
    return Case(name, f"{name}.csv", text.encode(encoding), expect)


_FIVE = Column("n", [1, 2, 3, 4, 5], "integer")


def _identifiers() -> list[Case]:
    made = []
    for sep_name, sep in (("comma", ","), ("semicolon", ";"), ("tab", "\t")):
        zero = Column("индекс" if sep == ";" else "zip", ["01234", "99423", "00501", "10115", "01234"], "text")
        long = Column("账号" if sep == "\t" else "account", ["9007199254740993", "9007199254740994", "1234567890123456789", "18446744073709551615", "9007199254740993"], "text")
        expo = Column("part", ["1E5", "2E10", "3E7", "77", "1E5"], "text")
        style = Style(sep=sep)
        made.append(table_case(f"leading-zeros-{sep_name}", [zero, _FIVE], style, notes=["leading zeros"]))
        made.append(table_case(f"long-digits-{sep_name}", [long, _FIVE], style, notes=["15 digits"]))
        made.append(table_case(f"exponent-ids-{sep_name}", [expo, _FIVE], style, notes=["1E5"]))
    phones = Column("phone", ["+4930901820", "+74951234567", "+442071838750", "+12125550100", "+81312345678"], "text")
    made.append(table_case("phones", [phones, _FIVE], Style(sep=";"), notes=["phone"]))
    versions = Column("version", ["1.1", "1.10", "2.0", "1.1", "3.12"], "text")
    made.append(table_case("versions", [versions, _FIVE], Style()))
    science = Column("v", [D("150000"), D("0.0025"), D("-3000000"), D("12"), D("0")], "number", write=lambda v: f"{v:.2e}")
    made.append(table_case("scientific", [science, _FIVE], Style()))
    return made


def _missing() -> list[Case]:
    made = []
    countries = Column("country", ["NA", "DE", "FR", "NA", "US"], "text")
    made += [table_case(f"namibia-{n}", [countries, _FIVE], Style(sep=s), notes=["NA is taken as a code"]) for n, s in (("comma", ","), ("semicolon", ";"), ("tab", "\t"))]
    for number, word in enumerate(("NA", "N/A", "null", "-", "NaN", "н/д", "—", "#N/A", "n.a.", "?")):
        amount = Column("amount", [D("1.5"), None, D("2.5"), None, D("4")], "number")
        made.append(table_case(f"missing-{number}", [amount, _FIVE], Style(sep=(",", ";", "\t")[number % 3], missing=word), notes=["missing is spelt"]))
    made.append(plain("missing-mixed", "k;v\na;NA\nb;\nc;-\nd;7\ne;N/A\nf;3\n", rows=6, missing={"v": 4}, sums={"v": 10}, types={"v": "integer"}))
    return made


def _numbers() -> list[Case]:
    values = [D("1234567.89"), D("-45.5"), D("1000"), D("999.99"), D("0.01")]
    made = []
    for name, sep, decimal, group in (
        ("us", ",", ".", ","), ("us-tab", "\t", ".", ","), ("german", ";", ",", "."), ("french", ";", ",", "\u202f"), ("russian", "\t", ",", "\u00a0"),
        ("swiss", ";", ".", "'"), ("swiss-curly", "|", ".", "’"), ("space-dot", ",", ".", " "),
    ):  # fmt: skip
        shown = " " if group in "\u202f\u00a0" else "'" if group == "’" else group
        style = Style(sep=sep, decimal=decimal, group=group, extra={"decimal": decimal, "thousands": shown})
        made.append(table_case(f"marks-{name}", [Column("amount", values, "number"), _FIVE], style))
    negatives = [D("-12.50"), D("3.25"), D("-1000.00"), D("8.00"), D("0.75")]
    for name, sep, write in (
        ("parentheses", ",", lambda v: f"({-v:,})" if v < 0 else f"{v:,}"),
        ("parentheses-dollar", ";", lambda v: f"(${-v:,})" if v < 0 else f"${v:,}"),
        ("parentheses-tab", "\t", lambda v: f"({-v})" if v < 0 else f"{v}"),
        ("trailing-minus", ",", lambda v: f"{-v}-" if v < 0 else f"{v}"),
        ("unicode-minus", ";", lambda v: f"\u2212{-v}" if v < 0 else f"{v}"),
    ):
        expect = {"notes": ["parentheses"]} if "(" in write(D("-1")) else {}
        made.append(table_case(f"negative-{name}", [Column("balance", negatives, "number", write=write), _FIVE], Style(sep=sep), **expect))
    made.append(plain("open-thousands", "k,v\na,\"1,234\"\nb,\"2,345\"\nc,\"3,456\"\n", rows=3, sums={"v": 7035}, notes=["nothing in the file says"]))
    made.append(plain("open-thousands-told", "k;v;w\na;1.234;0,5\nb;2.345;1,25\nc;3.456;2,5\n", rows=3, sums={"v": 7035, "w": 4.25}, decimal=",", thousands="."))
    made.append(plain("open-decimal-told", "k,v,w\na,1.234,0.5\nb,2.345,1.25\nc,3.456,2.5\n", rows=3, sums={"v": 7.035, "w": 4.25}, decimal="."))
    made.append(plain("marks-conflict", "k;v\na;1.5\nb;2,5\nc;3.75\nd;4,25\n", rows=4, types={"v": "text"}, notes=["mixes decimal"]))
    made.append(plain("indian", 'k,v\na,"12,34,567"\nb,"1,00,000"\nc,"45,678"\n', rows=3, sums={"v": 1380245}, thousands=","))
    return made


def _units() -> list[Case]:
    amounts = [D("1234.50"), D("99.99"), D("-5.00"), D("0.10"), D("20000.00")]
    made = []
    for name, sep, unit, write in (
        ("dollar", ",", "$", lambda v: f"${v:,}" if v >= 0 else f"-${-v:,}"),
        ("euro", ";", "€", lambda v: f"{v} €"),
        ("rouble", "\t", "₽", lambda v: f"{v:,} ₽".replace(",", " ").replace(".", ",")),
        ("pound", "|", "£", lambda v: f"£{v}" if v >= 0 else f"£-{-v}"),
        ("code", ",", "EUR", lambda v: f"EUR {v}"),
        ("yen", ",", "¥", lambda v: f"¥{v:,}" if v >= 0 else f"-¥{-v:,}"),
    ):
        column = Column("сумма" if unit == "₽" else "金額" if unit == "¥" else "price", amounts, "number", write=write)
        made.append(table_case(f"currency-{name}", [column, _FIVE], Style(sep=sep), units={column.name: unit}))
    shares = [D("12.5"), D("3"), D("0.25"), D("100"), D("-4.5")]
    for name, sep, write in (("dot", ",", lambda v: f"{v}%"), ("comma", ";", lambda v: f"{v} %".replace(".", ",")), ("tab", "\t", lambda v: f"{v}%")):
        made.append(table_case(f"percent-{name}", [Column("доля" if sep == ";" else "share", shares, "number", write=write), _FIVE], Style(sep=sep), notes=["percent"]))
    made.append(plain("currency-mixed", "k,v\na,$5.00\nb,€7.00\nc,$9.00\n", rows=3, types={"v": "number"}, sums={"v": None}, notes=["mixes units"]))
    return made


def _days(*parts: tuple[int, int, int]) -> list[dt.date]:
    return [dt.date(*p) for p in parts]


def _dates() -> list[Case]:
    days = _days((2024, 2, 29), (2024, 11, 5), (2023, 12, 31), (2024, 1, 2), (2024, 7, 14))
    made = []
    for name, sep, form, shown in (
        ("iso", ",", "%Y-%m-%d", ""), ("iso-slash", ";", "%Y/%m/%d", ""), ("iso-dots", "\t", "%Y.%m.%d", ""), ("compact", ",", "%Y%m%d", ""),
        ("dots", ";", "%d.%m.%Y", ""), ("dots-short", "\t", "%d.%m.%y", ""), ("day-slash", ",", "%d/%m/%Y", ""), ("month-slash", ",", "%m/%d/%Y", ""),
        ("month-slash-short", ";", "%m/%d/%y", ""), ("day-dash", "\t", "%d-%m-%Y", ""), ("words", ",", "%d %b %Y", ""), ("words-dash", ";", "%d-%b-%Y", ""),
        ("words-long", "\t", "%d %B %Y", "%d %b %Y"), ("american-words", ";", "%b %d, %Y", ""), ("american-long", "|", "%B %d, %Y", "%b %d, %Y"), ("cjk", ",", "%Y年%m月%d日", ""),
    ):  # fmt: skip
        column = Column("дата" if sep == "\t" else "date", days, "date", format=form)
        made.append(table_case(f"date-{name}", [column, _FIVE], Style(sep=sep), formats={column.name: shown or form}))
    months = "января февраля марта апреля мая июня июля августа сентября октября ноября декабря".split()
    russian = Column("день", days, "date", write=lambda d: f"{d.day} {months[d.month - 1]} {d.year}")
    german_names = "Januar Februar März April Mai Juni Juli August September Oktober November Dezember".split()
    german = Column("Tag", days, "date", write=lambda d: f"{d.day}. {german_names[d.month - 1]} {d.year}")
    made.append(table_case("date-russian-words", [russian, _FIVE], Style(sep=";")))
    made.append(table_case("date-german-words", [german, _FIVE], Style(sep=";")))
    open_days = "".join(f"{a:02}/{b:02}/2024,{i}\n" for i, (a, b) in enumerate([(5, 4), (1, 2), (11, 3), (7, 7), (2, 9)]))
    made.append(plain("date-open", "when,n\n" + open_days, rows=5, dates={"when": None}, notes=["cannot be told apart"]))
    made.append(plain("date-open-russian", "когда;n\n" + open_days.replace(",", ";"), rows=5, dates={"когда": None}, notes=["cannot be told apart"]))
    made.append(plain("date-open-tab", "日\tn\n" + open_days.replace(",", "\t").replace("/", "-"), rows=5, dates={"日": None}, notes=["cannot be told apart"]))
    neighbour = "ordered,paid\n05/04/2024,25/04/2024\n01/02/2024,13/02/2024\n11/03/2024,30/03/2024\n"
    made.append(plain("date-by-neighbour", neighbour, rows=3, dates={"ordered": ("2024-02-01", "2024-04-05"), "paid": ("2024-02-13", "2024-04-25")}, notes=["decided by the file's other dates"]))
    both = "when,n\n25/04/2024,1\n04/25/2024,2\n03/13/2024,3\n"
    made.append(plain("date-both-orders", both, rows=3, types={"when": "text"}, dates={"when": None}, notes=["mixes day-first and month-first"]))
    late = "".join(f"{1 + i % 12:02}/{1 + i % 11:02}/2024,{i}\n" for i in range(500)) + "31/12/2024,500\n"
    made.append(plain("date-late-evidence", "when,n\n" + late, rows=501, formats={"when": "%d/%m/%Y"}, dates={"when": ("2024-01-01", "2024-12-31")}))
    made.append(plain("date-impossible", "when,n\n31.01.2024,1\n30.02.2024,2\n15.03.2024,3\n01.04.2024,4\n", rows=4, dates={"when": ("2024-01-31", "2024-04-01")}, notes=["1 cell is no date"]))
    made.append(plain("month-only", "month,n\n2024-01,1\n2024-02,2\n2024-03,3\n", rows=3, types={"month": "date"}, formats={"month": "%Y-%m"}, dates={"month": ("2024-01-01", "2024-03-01")}))
    return made


def _zones() -> list[Case]:
    made = []
    base = dt.datetime(2024, 3, 30, 23, 30)
    for name, sep, tail in (("z", ",", "Z"), ("offset", ";", "+03:00"), ("offset-plain", "\t", "-0500")):
        texts = [(base + dt.timedelta(hours=i)).strftime("%Y-%m-%dT%H:%M:%S") + tail for i in range(3)]
        iso = {"Z": "+00:00", "-0500": "-05:00"}.get(tail, tail)
        first, last = (base + dt.timedelta(hours=i) for i in (0, 2))
        made.append(plain(f"zone-{name}", f"t{sep}n\n" + "".join(f"{t}{sep}{i}\n" for i, t in enumerate(texts)), rows=3, types={"t": "datetime"},
                          dates={"t": (first.isoformat() + iso, last.isoformat() + iso)}))  # fmt: skip
    made.append(plain("zone-two", "t,n\n2024-03-30T23:30:00+01:00,1\n2024-03-31T04:30:00+02:00,2\n2024-03-30T22:00:00+01:00,3\n", rows=3,
                      dates={"t": ("2024-03-30T22:00:00+01:00", "2024-03-31T04:30:00+02:00")}, notes=["offsets"]))  # fmt: skip
    times = Column("t", [dt.datetime(2024, 1, 5, 13, 4), dt.datetime(2024, 1, 6, 0, 30), dt.datetime(2024, 12, 24, 9, 5), dt.datetime(2024, 2, 1, 12, 0), dt.datetime(2024, 2, 2, 23, 59)], "datetime", format="%m/%d/%Y %I:%M %p")
    made.append(table_case("time-twelve", [times, _FIVE], Style()))
    times24 = Column("время", times.values, "datetime", format="%d.%m.%Y %H:%M")
    made.append(table_case("time-dots", [times24, _FIVE], Style(sep=";")))
    return made


def _headers() -> list[Case]:
    made = []
    for name, sep in (("comma", ","), ("semicolon", ";"), ("tab", "\t")):
        rows = "".join(sep.join(str(v) for v in row) + "\n" for row in ((1, 10, 100), (2, 20, 200), (3, 30, 300)))
        word = {",": "total", ";": "Сумма", "\t": "合計数"}[sep]
        made.append(plain(f"twins-{name}", f"{word}{sep}{word}{sep}x\n" + rows, rows=3, columns=[word, f"{word} (2)", "x"], sums={word: 6, f"{word} (2)": 60, "x": 600}, notes=["names twice"]))
        made.append(plain(f"unnamed-{name}", f"a{sep}{sep}x\n" + rows, rows=3, columns=["a", "column_2", "x"], sums={"column_2": 60}, notes=["no name"]))
    made.append(plain("years-as-header", "region,2022,2023,2024\nNorth,10,20,30\nSouth,1,2,3\nEast,5,5,5\n", rows=3, columns=["region", "2022", "2023", "2024"], sums={"2022": 16, "2024": 38}, header_row=1))
    made.append(plain("quoted-header", '"first, name";"Größe (cm)";"n "\nA;170;1\nB;180;2\n', rows=2, columns=["first, name", "Größe (cm)", "n"], sums={"Größe (cm)": 350}))
    made.append(plain("hash-header", "#id\tname\tn\n1\tx\t5\n2\ty\t6\n3\tz\t7\n", rows=3, columns=["id", "name", "n"], sums={"n": 18}))
    return made


def _frames() -> list[Case]:
    """Preambles, footers, totals, units."""
    made = []
    words = {
        ",": ("Sales report", "Generated 2024-05-01", "region", "Total", "Source: ledger of the shop"),
        ";": ("Отчёт о продажах", "Сформирован: 01.05.2024", "регион", "Итого", "Источник: учётная система"),
        "\t": ("売上レポート", "作成日 2024-05-01", "地域", "合計", "出典: 会計システム"),
    }
    for name, sep in (("comma", ","), ("semicolon", ";"), ("tab", "\t")):
        title, made_on, region, total, source = words[sep]
        head = sep.join([region, "units", "amount", "kg"])
        body = [sep.join(row) for row in (("N", "3", "10", "1"), ("S", "4", "20", "2"), ("E", "5", "30", "3"))]
        last = sep.join([total, "12", "60", "6"])
        sums = {"units": 12, "amount": 60, "kg": 6}
        made.append(plain(f"preamble-{name}", "\n".join([title, made_on, "", head, *body]) + "\n", rows=3, header_row=4, sums=sums, notes=["above the header"]))
        made.append(plain(f"total-{name}", "\n".join([head, *body, last]) + "\n", rows=3, sums=sums, notes=["1 total row"]))
        made.append(plain(f"footer-{name}", "\n".join([head, *body, source]) + "\n", rows=3, sums=sums, notes=["below the data"]))
        made.append(plain(f"all-frames-{name}", "\n".join([title, "", head, *body, last, "", source]) + "\n", rows=3, header_row=3, sums=sums, notes=["above the header", "1 total row", "below the data"]))
        units = sep.join(["", "pcs", "EUR", "kg"])
        made.append(plain(f"units-row-{name}", "\n".join([head, units, *body]) + "\n", rows=3, sums=sums, notes=["row of units"]))
    sub = "region,product,n\nN,a,1\nN,b,2\nSubtotal,,3\nS,a,4\nS,b,5\nSubtotal,,9\nGrand total,,12\n"
    made.append(plain("subtotals", sub, rows=4, sums={"n": 12}, notes=["3 total rows"]))
    brand = "brand,n\nTotal,5\nShell,6\nTotal,7\nBP,8\nTotal,9\nShell,1\n"
    made.append(plain("total-is-a-brand", brand, rows=6, sums={"n": 36}, no_notes=["total row"]))
    made.append(plain("comments", "# exported by tool\n# v2\na,b\n1,2\n3,4\n", rows=2, columns=["a", "b"], sums={"a": 4, "b": 6}, header_row=3))
    made.append(plain("repeated-header", "a,b\n1,2\n3,4\na,b\n5,6\n", rows=3, sums={"a": 9}, notes=["header is repeated"]))
    return made


def _ragged() -> list[Case]:
    made = []
    for name, sep in (("comma", ","), ("semicolon", ";"), ("tab", "\t")):
        lines = ["k,a,b", "x,1,2", "y,3", "z,4,5", "w,6,7,8", "v,9,10"]
        made.append(plain(f"ragged-{name}", "\n".join(lines).replace(",", sep) + "\n", rows=5, sums={"a": 23, "b": 24}, missing={"b": 1}, notes=["1 row has fewer cells .*row 3", "1 row has more cells .*row 5"]))
        blank = ["k,a,b", "x,1,2", "", "y,3,4", ",,", "z,5,6"]
        made.append(plain(f"blank-rows-{name}", "\n".join(blank).replace(",", sep) + "\n", rows=3, sums={"a": 9, "b": 12}))
    made.append(plain("trailing-delimiter", "a;b;\n1;2;\n3;4;\n", rows=2, columns=["a", "b"], sums={"a": 4, "b": 6}))
    made.append(plain("duplicate-rows", "a,b\n1,x\n2,y\n1,x\n1,x\n", rows=4, sums={"a": 5}, notes=["2 rows repeat"]))
    return made


def _mixed() -> list[Case]:
    made = [
        plain("few-words", "k,v\n" + "".join(f"k{i},{i}\n" for i in range(60)) + "x,unknown value\n", rows=61, types={"v": "integer"}, sums={"v": 1770}, notes=["1 cell is no number"]),
        plain("codes-among-numbers", "k,v\n" + "".join(f"k{i},{i + 100}\n" for i in range(60)) + "x,A17\n", rows=61, types={"v": "text"}, notes=["60 of 61 cells are numbers"]),
        plain("half-words", "k;v\na;1\nb;two\nc;3\nd;four\n", rows=4, types={"v": "text"}),
        plain("formula-errors", "k,v\na,1\nb,#DIV/0!\nc,3\nd,#REF!\n", rows=4, types={"v": "integer"}, sums={"v": 4}, missing={"v": 2}, notes=["formula errors"]),
        plain("case-twins", "k,n\nOslo,1\noslo,2\nRome,3\n Oslo ,4\n", rows=4, sums={"n": 10}, notes=["differ only in case"]),
        plain("sentinel", "k,n\n" + "".join(f"k{i},{20 + i % 9}\n" for i in range(40)) + "a,-999\nb,-999\n", rows=42, notes=["-999 occurs 2 times"]),
        plain("outlier", "k,n\n" + "".join(f"k{i},{20 + i % 9}\n" for i in range(40)) + "a,5000\n", rows=41, notes=["greatest value 5,000"]),
        plain("padded", "k ; v\n a ; 1 \n b ; 2 \n c ; 3 \n", rows=3, columns=["k", "v"], sums={"v": 6}),
    ]
    for name, words in (("english", ("yes", "no")), ("russian", ("да", "нет")), ("true", ("TRUE", "FALSE")), ("chinese", ("是", "否"))):
        column = Column("ok", [words[0], words[1], words[0], words[0], words[1]], "boolean")
        made.append(table_case(f"boolean-{name}", [column, _FIVE], Style(sep=(",", ";", "\t", "|")[len(made) % 4]), tops={}))
    return made
