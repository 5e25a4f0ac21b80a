"""Delimited files: separators, encodings, scripts, shapes."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal as D

from harness import Case, Column, Style, delimited, expected, table_case

_LATIN = ["Zürich", "Kraków", "Örebro", "São Paulo", "Zürich", "Málaga"]
_CYRILLIC = ["Москва", "Казань", "Санкт-Петербург", "Тверь", "Москва", "Нижний Новгород"]
_CJK = ["東京都", "大阪府", "北海道", "神奈川県", "東京都", "ひらがな市"]
_CHINESE = ["北京市", "上海市", "广州市", "深圳市", "北京市", "成都市"]
_KOREAN = ["서울특별시", "부산광역시", "대구광역시", "인천광역시", "서울특별시", "제주도"]


def sales(places: list[str], heads: list[str], date_format: str = "%Y-%m-%d") -> list[Column]:
    """Six rows: day, place, count, amount."""
    return [
        Column(heads[0], [dt.date(2025, 1 + i, 27 - i) for i in range(6)], "date", format=date_format),
        Column(heads[1], places, "text"),
        Column(heads[2], [3, 14, None, 1592, 6, -5], "integer"),
        Column(heads[3], [D("12.50"), D("-0.99"), D("1234.05"), D("1000000.10"), None, D("7.25")], "number"),
    ]


_EN = ["day", "place", "units", "amount"]
_RU = ["Дата", "Город", "Количество", "Сумма"]
_JA = ["日付", "都市", "数量", "金額"]


def cases() -> list[Case]:
    return [*_separators(), *_scripts(), *_encodings(), *_shapes(), *_quoting(), *_big()]


def _separators() -> list[Case]:
    named = {"comma": ",", "semicolon": ";", "tab": "\t", "pipe": "|", "caret": "^", "tilde": "~", "unit": "\x1f", "soh": "\x01"}
    made = [table_case(f"sep-{name}", sales(_LATIN, _EN), Style(sep=sep)) for name, sep in named.items()]
    for name, sep, group in (("semicolon", ";", "."), ("tab", "\t", "\u00a0"), ("pipe", "|", " "), ("comma-quoted", ",", ".")):
        style = Style(sep=sep, decimal=",", group=group, extra={"decimal": ",", "thousands": " " if group.isspace() else group})
        made.append(table_case(f"decimal-comma-{name}", sales(_LATIN, _EN, "%d.%m.%Y"), style, formats={"day": "%d.%m.%Y"}))
    told = sales(_LATIN, _EN)
    made.append(table_case("sep-told", told, Style(sep=";", before=["sep=;"])))
    made.append(table_case("crlf", told, Style(sep=";", newline="\r\n")))
    made.append(table_case("named-txt", told, Style(sep="|"), file="export.txt"))
    made.append(table_case("named-xls", told, Style(sep="\t"), file="export.xls", notes=["by its content"]))
    made.append(table_case("no-extension", told, Style(), file="export"))
    return made


def _scripts() -> list[Case]:
    made = []
    for script, places, heads in (("latin", _LATIN, _EN), ("cyrillic", _CYRILLIC, _RU), ("cjk", _CJK, _JA), ("korean", _KOREAN, ["날짜", "도시", "수량", "금액"])):
        for sep_name, sep in (("comma", ","), ("semicolon", ";"), ("tab", "\t")):
            made.append(table_case(f"script-{script}-{sep_name}", sales(places, heads), Style(sep=sep)))
    return made


def _encodings() -> list[Case]:
    made = []
    for codec, iana, places, heads in (
        ("utf-8-sig", "utf-8", _CYRILLIC, _RU),
        ("utf-16", "utf-16", _CYRILLIC, _RU),
        ("utf-16-le", "utf-16le", _LATIN, _EN),
        ("utf-16-be", "utf-16be", _LATIN, _EN),
        ("cp1251", "windows-1251", _CYRILLIC, _RU),
        ("koi8-r", "koi8-r", _CYRILLIC, _RU),
        ("cp866", "ibm866", _CYRILLIC, _RU),
        ("cp1250", "windows-1250", ["Kraków", "Łódź", "Gdańsk", "Poznań", "Kraków", "Wrocław"], ["dzień", "miejsce", "sztuk", "kwota"]),
        ("shift_jis", "shift_jis", _CJK, _JA),
        ("euc-jp", "euc-jp", _CJK, _JA),
        ("gb18030", "gb18030", _CHINESE, ["日期", "城市", "数量", "金额"]),
        ("big5", "big5", ["臺北市", "高雄市", "臺中市", "臺南市", "臺北市", "新竹市"], ["日期", "城市", "數量", "金額"]),
        ("euc-kr", "euc-kr", _KOREAN, ["날짜", "도시", "수량", "금액"]),
    ):
        for sep_name, sep in (("comma", ","), ("tab", "\t"), ("semicolon", ";")) if codec in ("cp1251", "utf-16", "shift_jis") else (("semicolon", ";"),):
            made.append(table_case(f"encoding-{codec}-{sep_name}", sales(places, heads), Style(sep=sep, encoding=codec, iana=iana)))
    western = sales(["Zürich", "Köln", "Málaga", "Besançon", "Zürich", "Ålesund"], ["Tag", "Straße", "Stück", "Größe"])
    made.append(table_case("encoding-cp1252", western, Style(sep=";", encoding="cp1252", iana="windows-1252")))
    return made


def _shapes() -> list[Case]:
    one_row = [Column("id", ["A1"], "text"), Column("n", [5], "integer")]
    one_column = [Column("city", ["Oslo", "Bergen", "Oslo", "Trondheim"], "text")]
    numbers = [Column("reading", [3, 1, 4, 1, 5, 9, 2, 6], "integer")]
    wide = [Column(f"m{i}", [i, None if i % 2 else i * 2, 7], "integer") for i in range(300)]
    long = [Column("i", list(range(20_000)), "integer"), Column("g", [f"g{i % 7}" for i in range(20_000)], "text")]
    empty_column = [Column("a", [1, 2, 3], "integer"), Column("b", [None, None, None], "text"), Column("c", ["x", "y", "z"], "text")]
    made = [
        table_case("one-row", one_row, Style()),
        Case("one-column", "cities.csv", delimited(one_column, Style()), expected(one_column)),
        Case("one-column-numbers", "readings.txt", delimited(numbers, Style()), expected(numbers)),
        table_case("wide", wide, Style(sep=";")),
        table_case("long", long, Style(sep="\t")),
        table_case("empty-column", empty_column, Style(), notes=['"b": is empty']),
    ]
    headless = b"2024-01-05,Oslo,3\n2024-01-06,Rome,4\n2024-01-07,Oslo,5\n"
    made.append(Case("no-header", "raw.csv", headless, {
        "rows": 3, "header_row": 0, "columns": ["column_1", "column_2", "column_3"], "sums": {"column_3": 12}, "dates": {"column_1": ("2024-01-05", "2024-01-07")}, "notes": ["no header"],
    }))  # fmt: skip
    made.append(Case("no-header-semicolon", "raw2.csv", "1,5;Москва\n2,5;Тверь\n3,25;Омск\n".encode(), {"rows": 3, "header_row": 0, "sums": {"column_1": 7.25}, "decimal": ","}))
    made.append(Case("no-header-tab", "raw3.tsv", b"17\t0.5\n18\t0.25\n19\t0.125\n", {"rows": 3, "header_row": 0, "kind": "tsv", "sums": {"column_1": 54, "column_2": 0.875}}))
    return made


def _quoting() -> list[Case]:
    tricky = [
        Column("name", ['O"Neil', "line\nbreak", "comma, inside", "plain"], "text"),
        Column("n", [1, 2, 3, 4], "integer"),
    ]
    shown = {'O"Neil': 1, "line break": 1, "comma, inside": 1, "plain": 1}
    made = [table_case(f"quotes-{name}", tricky, Style(sep=sep), tops={"name": shown}) for name, sep in (("comma", ","), ("semicolon", ";"), ("tab", "\t"))]
    made.append(table_case("quotes-all", sales(_LATIN, _EN), Style(quote_all=True)))
    stray = 'item,size\n' + "".join(f'disk {i},{i}\n' for i in range(1, 4)) + 'screen 27" wide,27\n' + "".join(f"disk {i},{i}\n" for i in range(4, 9))
    made.append(Case("quote-stray", "stray.csv", stray.encode(), {"rows": 9, "columns": ["item", "size"], "sums": {"size": 36 + 27}}))
    opened = 'item,size\na,1\n"never closed,2\nb,3\nc,4\n'
    made.append(Case("quote-unclosed", "open.csv", opened.encode(), {"rows": 4, "columns": ["item", "size"], "sums": {"size": 10}, "notes": ["quote marks"]}))
    single = "'a, b',1\n'c, d',2\n'e',3\n"
    made.append(Case("quote-single", "single.csv", ("name,n\n" + single).encode(), {"rows": 3, "columns": ["name", "n"], "sums": {"n": 6}}))
    return made


def _big() -> list[Case]:
    """The type is decided on all rows: what is odd comes last."""
    late_text = [Column("code", [*map(str, range(1000, 31_000)), "N123"], "text"), Column("n", [1] * 30_001, "integer")]
    late_decimal = [Column("v", [*(D(i) for i in range(30_000)), D("0.5")], "number", write=lambda v: f"{v:f}")]
    late_zero = [Column("zip", [*(str(i) for i in range(10_000, 40_000)), "01234"], "text"), Column("n", [2] * 30_001, "integer")]
    return [
        table_case("late-text", late_text, Style()),
        Case("late-decimal", "late.csv", delimited(late_decimal, Style()), expected(late_decimal)),
        table_case("late-zero", late_zero, Style(sep=";"), notes=["leading zeros"]),
    ]
