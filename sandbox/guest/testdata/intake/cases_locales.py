"""Letters, numbers, dates and yes or no as programs of many countries write them."""

from __future__ import annotations

from typing import Any

from harness import Case


def cases() -> list[Case]:
    return [*_charsets(), *_amounts(), *_attached(), *_dates(), *_moments(), *_words()]


def _two(name: str, header: str, values: list[str], codec: str = "utf-8", sep: str = ",", **expect: Any) -> Case:
    """A file of two columns: k0, k1, … and the one that matters, every cell in quotes."""
    lines = [("k", header), *((f"k{i}", value) for i, value in enumerate(values))]
    text = "".join(f'"{a}"{sep}"{b}"\n' for a, b in lines)
    return Case(f"locale-{name}", f"{name}.csv", text.encode(codec), {"rows": len(values), **expect})


# Name, Python's codec, its IANA name, a header and words in that language.
_LETTERS = (
    ("hebrew", "cp1255", "windows-1255", "עיר", "ירושלים", "חיפה", "תל אביב"), ("hebrew-names", "cp1255", "windows-1255", "שם", "משה כהן", "רחל לוי", "דוד מזרחי"),
    ("arabic", "cp1256", "windows-1256", "المدينة", "القاهرة", "الرياض", "بغداد"), ("arabic-goods", "cp1256", "windows-1256", "الصنف", "خبز", "حليب كامل", "زيت زيتون"),
    ("thai", "cp874", "windows-874", "จังหวัด", "กรุงเทพมหานคร", "เชียงใหม่", "ภูเก็ต"), ("turkish", "cp1254", "windows-1254", "Şehir", "İstanbul", "Diyarbakır", "Muğla"),
    ("turkish-goods", "cp1254", "windows-1254", "Ürün", "Çiçek yağı", "Küçük şişe", "Ekmek bıçağı"), ("lithuanian", "cp1257", "windows-1257", "Miestas", "Kaišiadorys", "Marijampolė", "Ąžuolynas"),
    ("latvian", "cp1257", "windows-1257", "Pilsēta", "Rīga", "Jūrmala", "Liepāja"), ("polish-8859", "iso8859-2", "iso-8859-2", "Ilość", "Łódź", "Kraków", "Świnoujście"),
    ("polish-dos", "cp852", "ibm852", "Miasto", "Łódź", "Żółkiewka", "Świnoujście"), ("czech", "cp1250", "windows-1250", "Město", "Plzeň", "Ústí nad Labem", "Žďár"),
    ("croatian", "cp1250", "windows-1250", "Županija", "Šibenik", "Čakovec", "Đakovo"), ("ukrainian", "cp1251", "windows-1251", "Місто", "Київ", "Чернівці", "Їжакевич"),
    ("mac-russian", "mac-cyrillic", "x-mac-cyrillic", "Город", "Москва", "Нижний Новгород", "Тверь"), ("mac-french", "mac-roman", "macintosh", "Ville", "Besançon", "Orléans", "Nîmes"),
    ("western-mixed", "cp1252", "windows-1252", "Name", "Ñandú", "Große Straße", "Müller"), ("icelandic", "cp1252", "windows-1252", "Nafn", "Þórður Guðmundsson", "Ásta Björk", "Sigríður"),
    ("iso-2022", "iso2022_jp", "iso-2022-jp", "都市", "東京", "大阪", "さいたま市"), ("utf16-cyrillic", "utf-16-be", "utf-16be", "Город", "Москва", "Орёл", "Омск"),
    ("utf16-greek", "utf-16-le", "utf-16le", "Πόλη", "Αθήνα", "Θεσσαλονίκη", "Πάτρα"),
)  # fmt: skip


def _charsets() -> list[Case]:
    made = [
        _two(name, header, list(words), codec, sep=";", encoding=iana, columns=["k", header], tops={header: dict.fromkeys(words, 1)})
        for name, codec, iana, header, *words in _LETTERS
    ]
    lines = ["name,qty\n".encode(), *("Müller,1\n".encode() for _ in range(50)), "Jörg,2\n".encode("cp1252"), *("Zoë,3\n".encode() for _ in range(20))]
    made.append(Case("locale-one-bad-line", "a.csv", b"".join(lines), {"encoding": "utf-8", "rows": 71, "sums": {"qty": 112}, "notes": ["1 byte is not valid utf-8"]}))
    return made


def _amounts() -> list[Case]:
    return [
        _two("czech-dash", "Cena", ["1 234,50 Kč", "99,- Kč", "12 000,00 Kč"], sep=";", sums={"Cena": 13333.5}, units={"Cena": "Kč"}),
        _two("norwegian-dash", "Pris", ["kr 1 200,-", "kr 99,50", "kr 10,-"], sep=";", sums={"Pris": 1309.5}),
        _two("swiss-dash", "Preis", ["12.-", "7.50", "100.-"], sums={"Preis": 119.5}),
        _two("lira", "Tutar", ["₺1.234,56", "99,90 TL", "12 TRY"], sep=";", sums={"Tutar": 1346.46}),
        _two("yen", "金額", ["¥1,234", "￥99", "1,000円"], sums={"金額": 2333}),
        _two("rupees", "Amount", ["Rs. 12,34,567.89", "Rs 99,999.00", "₹1,00,00,000.11"], sums={"Amount": 11334567.0}),
        _two("euro-spelt", "Betrag", ["€ 1.234,50", "EUR 10,00", "- € 5,00", "€ -4,50"], sep=";", sums={"Betrag": 1235.0}),
        _two("two-currencies", "price", ["$10.00", "€20.00", "£5.50"], sums={"price": None}, notes=["mixes units"]),
        _two("dollar-parentheses", "Amount", ["$1,500.00", "($250.75)", "$(200.00)", "-$49.25"], sums={"Amount": 1000.0}),
        _two("accounting-dash", "Debit", ["1,000.00", "$ -", "2.50"], sums={"Debit": 1002.5}, missing={"Debit": 1}),
        _two("arabic-digits", "المبلغ", ["١٢٣٤٫٥", "٩٩", "١٬٠٠٠"], sums={"المبلغ": 2333.5}),
        _two("full-width", "数量", ["１２３４", "９９", "１，０００"], sums={"数量": 2333}),
        _two("direction-marks", "סכום", ["\u200f1,200.50\u200f", "\u200e-99.50", "\ufeff10"], sums={"סכום": 1111.0}),
        _two("fortran", "v", ["1.5D+03", "2.0D-02", "-3.0D+00"], sums={"v": 1497.02}),
        _two("fortran-like-codes", "part", ["12D3", "13D4", "7E"], types={"part": "text"}),
        _two("rounded-codes", "ean", ["4.00638E+12", "4.00638E+12", "9.78020E+12"], types={"ean": "text"}, notes=["last digits are lost"]),
        _two("rounded-figures", "bytes sent", ["4.00638E+12", "1.5E+11", "9.78020E+12"], types={"bytes sent": "number"}, notes=["rounded it to six digits"]),
        _two("sentinel-few", "temp", ["12.5", "-999.0", "13.5", "-999.0", "11.0"], notes=["-999 occurs 2 times"]),
        _two("missing-german", "n", ["12,5", "k. A.", "13,5", "entfällt"], sep=";", sums={"n": 26.0}, missing={"n": 2}),
        _two("missing-japanese", "n", ["12", "不明", "13", "該当なし"], sums={"n": 25}, missing={"n": 2}),
        _two("missing-stata", "x", [".a", "3.5", ".", "1.5"], sums={"x": 5.0}, missing={"x": 2}),
    ]


def _attached() -> list[Case]:
    return [
        _two("unit-of-all", "weight", ["10 kg", "5.5 kg", "250 kg"], sums={"weight": 265.5}, units={"weight": "kg"}),
        _two("units-differ", "weight", ["10 kg", "5.5 kg", "900 mg"], sums={"weight": None}, notes=["mixes units"]),
        _two("unit-of-one-letter", "height", ["10 m", "5.5 m", "250 cm"], types={"height": "text"}, notes=["attached to a number"]),
        _two("limits", "conc", ["<0.5", "1.2", "3.4", ">100"], types={"conc": "text"}, notes=["2 of 4 cells something is attached"]),
        _two("suffixes", "dist", ["1.2k", "3.4M", "500", "7K"], types={"dist": "text"}, notes=["attached to a number"]),
        _two("flats", "flat", ["12A", "7B", "3C"], types={"flat": "text"}, no_notes=["attached"]),
    ]


def _dates() -> list[Case]:
    """A column of dates: its name, how three are written, and the first and last of them."""
    rows = (
        ("french", "date", ["3 mars 2025", "14 déc. 2025", "1er mai 2025"], "2025-03-03", "2025-12-14"), ("spanish", "fecha", ["3 de marzo de 2025", "14 de diciembre de 2025", "1 de mayo de 2025"], "2025-03-03", "2025-12-14"),
        ("portuguese", "data", ["3 de março de 2025", "14 de dezembro de 2025", "1 de maio de 2025"], "2025-03-03", "2025-12-14"), ("turkish-month", "Tarih", ["3 Mart 2025", "14 Aralık 2025", "29 Kasım 2025"], "2025-03-03", "2025-12-14"),
        ("polish-month", "data", ["3 marca 2025", "14 grudnia 2025", "29 listopada 2025"], "2025-03-03", "2025-12-14"), ("korean", "날짜", ["2025. 3. 3.", "2025. 12. 14.", "2025. 11. 29."], "2025-03-03", "2025-12-14"),
        ("ukrainian-month", "Дата", ["3 березня 2025", "14 грудня 2025", "29 листопада 2025"], "2025-03-03", "2025-12-14"), ("month-and-year", "Month", ["Jan-24", "Feb-24", "Dec-24"], "2024-01-01", "2024-12-01"),
        ("sas", "DT", ["29NOV2025", "03DEC2025", "14DEC2025"], "2025-11-29", "2025-12-14"), ("birthdays", "Geburtsdatum", ["25.12.54", "01.01.71", "31.01.68"], "1954-12-25", "1971-01-01"),
    )  # fmt: skip
    timed = (
        ("sas-time", "DT", ["29NOV2025:10:00:00", "03DEC2025:11:00:00", "14DEC2025:00:00:00"], "2025-11-29T10:00:00", "2025-12-14T00:00:00"),
        ("oracle-time", "TS", ["29-NOV-25 02.30.00.000000 PM", "03-DEC-25 11.00.00.000000 AM", "14-DEC-25 12.00.00.000000 AM"], "2025-11-29T14:30:00", "2025-12-14T00:00:00"),
        ("finnish-time", "pvm", ["29.11.2025 14.30", "30.11.2025 8.05", "1.12.2025 0.00"], "2025-11-29T14:30:00", "2025-12-01T00:00:00"),
        ("ctime", "t", ["Sat Nov 29 20:00:00 2025", "Sun Nov 30 20:00:01 2025", "Mon Dec  1 00:00:00 2025"], "2025-11-29T20:00:00", "2025-12-01T00:00:00"),
        ("summer-time", "ts", ["2025-10-26 02:30:00 CEST", "2025-10-26 02:30:00 CET", "2025-10-26 04:00:00 CET"], "2025-10-26T02:30:00+02:00", "2025-10-26T04:00:00+01:00"),
        ("basic-iso", "dt", ["20251129T143000Z", "20251129T143100Z", "20251130T000000Z"], "2025-11-29T14:30:00+00:00", "2025-11-30T00:00:00+00:00"),
    )
    made = [_two(name, header, values, types={header: "date"}, dates={header: (first, last)}) for name, header, values, first, last in rows]
    made += [_two(name, header, values, types={header: "datetime"}, dates={header: (first, last)}) for name, header, values, first, last in timed]
    return [
        *made,
        _two("year-first-or-last", "when", ["24/12/25", "25/01/31", "25/02/28"], notes=["the year may come first"]),
        _two("buddhist", "วันที่", ["03/11/2568", "14/11/2568", "29/11/2568"], notes=["Buddhist"]),
        _two("zone-of-several-meanings", "ts", ["2025-10-26 02:30:00 CST", "2025-10-27 02:30:00 CST"], types={"ts": "text"}),
        _two("day-without-year", "ext", ["10-12", "11-03", "12-25"], types={"ext": "text"}),
        _two("genes", "gene", ["SEPT2", "MARCH1", "DEC1", "2-Sep", "1-Mar"], types={"gene": "text"}),
    ]


def _moments() -> list[Case]:
    span = ("2025-11-29T20:00:00+00:00", "2025-11-29T21:00:00+00:00")
    made = [
        _two(f"unix-{unit}", name, [f"1764446400{zeros}", f"1764446460{zeros}", f"1764450000{zeros}"], types={name: "datetime"}, dates={name: span}, notes=[f"Unix time in {unit}, read as"])
        for unit, name, zeros in (("seconds", "timestamp", ""), ("milliseconds", "created_at", "000"), ("microseconds", "__REALTIME_TIMESTAMP", "000000"), ("nanoseconds", "time_ns", "000000000"))
    ]
    journal = "".join(f'{{"__REALTIME_TIMESTAMP":"{1764446400000000 + i * 10**6}","_PID":"{100 + i}","MESSAGE":"hello {i}"}}\n' for i in range(5))
    return [
        *made,
        Case("locale-journald", "journal.json", journal.encode(), {"kind": "jsonl", "rows": 5, "dates": {"__REALTIME_TIMESTAMP": ("2025-11-29T20:00:00+00:00", "2025-11-29T20:00:04+00:00")}}),
        _two("unix-parts", "ts", ["1764446400.5", "1764446460.25", "1764450000.0"], dates={"ts": ("2025-11-29T20:00:00.500000+00:00", span[1])}),
        _two("unix-never", "last_login_at", ["1764446400", "0", "1764450000"], missing={"last_login_at": 1}, dates={"last_login_at": span}),
        _two("unix-unnamed", "value", ["1764446400", "1764446460", "1764450000"], types={"value": "integer"}, notes=["looks like Unix time in seconds"]),
        _two("compact-time", "dt", ["20251129143000", "20251129143100", "20251130000000"], dates={"dt": ("2025-11-29T14:30:00", "2025-11-30T00:00:00")}),
        _two("year-and-month", "period", ["202401", "202402", "202412"], types={"period": "date"}, dates={"period": ("2024-01-01", "2024-12-01")}),
        _two("not-a-month", "period", ["202401", "202413", "202412"], types={"period": "integer"}),
        _two("sheet-days", "Date", ["45992", "45993", "45999"], sums={"Date": None}, notes=["45992 would be 2025-12-01"]),
    ]


_YES_NO = (
    ("spanish", "sí", "no"), ("italian", "sì", "no"), ("portuguese", "sim", "não"), ("dutch", "ja", "nee"), ("swedish", "ja", "nej"), ("finnish", "kyllä", "ei"), ("polish", "TAK", "NIE"),
    ("czech", "ano", "ne"), ("turkish", "evet", "hayır"), ("ukrainian", "так", "ні"), ("arabic", "نعم", "لا"), ("hebrew", "כן", "לא"), ("korean", "예", "아니오"), ("excel-german", "WAHR", "FALSCH"),
    ("excel-french", "VRAI", "FAUX"), ("excel-russian", "ИСТИНА", "ЛОЖЬ"), ("ticks", "✓", "✗"),
)  # fmt: skip


def _words() -> list[Case]:
    made = [_two(f"yes-{name}", "flag", [no, yes, yes], types={"flag": "boolean"}, tops={"flag": {yes: 2, no: 1}}) for name, yes, no in _YES_NO]
    return [*made, _two("one-word-only", "note", ["ne", "ne", "ne"], types={"note": "text"}), _two("three-words", "flag", ["sí", "no", "tal vez"], types={"flag": "text"})]
