"""What a rule must not take for its own, beside what it must: files near the edge of one."""

from __future__ import annotations

import io
from typing import Any

import openpyxl
from harness import Case


def cases() -> list[Case]:
    return [*_letters(), *_signs(), *_values(), *_frames(), *_feet(), *_single(), *_shells(), *_money()]


def _text(name: str, text: str, codec: str = "utf-8", **expect: Any) -> Case:
    return Case(f"edge-{name}", f"{name}.csv", text.encode(codec), expect)


def _letters() -> list[Case]:
    """A single name beyond a to z is all that tells."""
    names = (
        ("polish", "Wałęsa", "cp1250", "windows-1250"), ("czech", "Dvořák", "cp1250", "windows-1250"), ("turkish", "Işık", "cp1254", "windows-1254"), ("russian", "Пётр", "cp1251", "windows-1251"),
        ("greek", "Νίκος", "cp1253", "windows-1253"), ("arabic", "محمد", "cp1256", "windows-1256"), ("thai", "สมชาย", "cp874", "windows-874"), ("lithuanian", "Žemaitė", "cp1257", "windows-1257"),
        ("latvian", "Bērziņš", "cp1257", "windows-1257"), ("romanian", "Ionaşcu", "cp1250", "windows-1250"), ("german", "Jürgen", "cp1252", "windows-1252"), ("danish", "Søren", "cp1252", "windows-1252"),
        ("spanish", "Muñoz", "cp1252", "windows-1252"),
    )  # fmt: skip
    made = [_text(f"name-{name}", f"name,qty\n{word},1\nplain,2\n", codec, encoding=iana, tops={"name": {word: 1, "plain": 1}}) for name, word, codec, iana in names]
    goods = "Наименование;Цена\n" + "".join(f"{name};{i},50\n" for i, name in enumerate(("ООО «Ромашка»", "ИП Щукин", "Хлеб ржаной", "Молоко", "Сыр"), 1))
    made += [_text(f"goods-{codec}", goods.replace("«", '"').replace("»", '"'), codec, encoding=iana, rows=5, sums={"Цена": 17.5}) for codec, iana in (("cp1251", "windows-1251"), ("koi8-r", "koi8-r"), ("cp866", "ibm866"), ("mac-cyrillic", "x-mac-cyrillic"))]
    dishes = "Libellé;Prix\n" + "".join(f"{name};{i},50\n" for i, name in enumerate(("Hôtel", "août", "Noël", "Nîmes", "crème brûlée"), 1))
    return [*made, *(_text(f"dishes-{codec}", dishes, codec, encoding=iana, tops={"Libellé": dict.fromkeys(("Hôtel", "août", "Noël", "Nîmes", "crème brûlée"), 1)}) for codec, iana in (("cp1252", "windows-1252"), ("mac-roman", "macintosh"), ("cp850", "ibm850")))]


def _signs() -> list[Case]:
    return [
        _text("degrees", "time,temp °C,µg/m³\n1,5,6\n2,7,8\n", "cp1252", encoding="windows-1252", columns=["time", "temp °C", "µg/m³"]),
        _text("euro", "k;v\na;5 €\nb;6 €\n", "cp1252", encoding="windows-1252", sums={"v": 11}, units={"v": "€"}),
        _text("no-break-space", "k;v\na;1\u00a0234,5\nb;6,5\n", "cp1252", sums={"v": 1241}),
        _text("curly-quotes", "k,v\n“quoted”,1\nit’s,2\n", "cp1252", encoding="windows-1252", tops={"k": {"“quoted”": 1, "it’s": 1}}),
    ]


def _values() -> list[Case]:
    return [
        _text("weekday-german", "Tag;n\nMo, 03.11.2025;1\nDi, 04.11.2025;2\nMi, 05.11.2025;3\n", dates={"Tag": ("2025-11-03", "2025-11-05")}),
        _text("weekday-russian", "Дата;n\nпн 03.11.2025;1\nвт 14.11.2025;2\n", dates={"Дата": ("2025-11-03", "2025-11-14")}),
        _text("zone-of-forms", "Timestamp,n\n2025/11/03 10:00:00 AM GMT+1,1\n2025/11/14 1:05:00 PM GMT+1,2\n", dates={"Timestamp": ("2025-11-03T10:00:00+01:00", "2025-11-14T13:05:00+01:00")}),
        _text("month-like-codes", "sku,qty\nMAR-10,1\nMAR-11,2\nDEC-12,4\n", types={"sku": "text"}),
        _text("months-as-names", "name,qty\nMay,1\nApril,2\nJune,3\n", types={"name": "text"}),
        _text("seconds-since-start", "time,v\n1,2\n2,3\n3,4\n", types={"time": "integer"}, sums={"time": 6}),
        _text("mixed-moments", "created,n\n1764446400,5\n5,6\n", types={"created": "integer"}),
        _text("bytes-of-data", "host,Data (bytes)\na,1764446400\nb,1864446400\nc,1964446400\n", types={"Data (bytes)": "integer"}, sums={"Data (bytes)": 5593339200}),
        _text("periods-by-number", "period,n\n1,5\n2,6\n3,7\n", types={"period": "integer"}),
        _text("beyond-floats", "v\n1e999\n1e-999\n-1e308\n2\n", rows=4),
        _text("crowns-and-crowns", "land;beløp\nDK;kr 5\nNO;10 kr\nSE;10 SEK\n", sums={"beløp": None}, notes=["mixes units"]),
    ]


def _frames() -> list[Case]:
    return [
        _text("placeholders-first", "sku,price,stock\nA,TBD,unknown yet\nB,5,1\nC,7,2\nD,9,3\n", rows=4),
        _text("types-below-names", "id,name,amt\nint,string,float\n1,a,2.5\n2,b,3.5\n", rows=2, sums={"amt": 6}, notes=["units"]),
        _text("index-base-below-names", "Preisindex: Deutschland;;;\n;;Preisindex;Veränderung\n;;2020=100;in (%)\n2025;Januar;120,3;2,3\n2025;Februar;120,8;2,3\n2025;März;121,2;2,2\n2025;April;...;...\n__________;;;\nVeränderung zum Vorjahresmonat;;;\n(C)opyright Statistisches Bundesamt;;;\n", "cp1252", rows=4, sums={"Preisindex": 362.3}, missing={"Preisindex": 1}, notes=["3 lines below"]),
        _text("units-russian", "Время;Темп.;Давл.\nс;°C;кПа\n1;20,5;101\n2;21,5;102\n", rows=2, sums={"Темп.": 42}, notes=["units"]),
        _text("particulars-above", "Customer,ACME\nDate,2025-11-29\nItem,Qty,Price\na,1,2.5\nb,2,3.5\nc,3,4.5\n", rows=3, header_row=3, sums={"Qty": 6, "Price": 10.5}),
        _text("title-with-commas", "Report,Generated 2025-11-29,,\nk,v,w,x\na,1,2,3\nb,4,5,6\n", rows=2, header_row=2, sums={"v": 5}),
        _text("query-in-a-cell", 'id,query\n1,"\nINSERT INTO t VALUES (1);\n"\n2,"select 1"\n3,x\n', kind="csv", rows=3, sums={"id": 6}),
        _text("colons-in-names", "ns,qty\nstd::map,1\nstd::set,2\nboost::any,3\n", rows=3, columns=["ns", "qty"], sums={"qty": 6}),
        _text("addresses", "id,url\n1,https://a/b\n2,https://c/d\n3,https://e/f\n", rows=3, columns=["id", "url"]),
        _text("errors-as-records", '[{"error":"x","code":1},{"error":"y","code":2}]', rows=2, sums={"code": 3}),
    ]


def _feet() -> list[Case]:
    return [
        _text("balance-in-words", "Date,Type,Amount\n2025-11-01,Balance,10\n2025-11-02,Payment,-5\n2025-11-03,Balance,20\n", rows=3, sums={"Amount": 25}),
        _text("total-as-a-brand", "product,qty\nTotal: cereal,5\nTotal: yoghurt,7\nOats,3\n", rows=3, sums={"qty": 15}),
        _text("signature", "Товар;Кол;Сумма\nСтул;1;10\nСтол;2;20\nИТОГО:;3;30\n\nПодпись;;\nДиректор Иванов;;\n", rows=2, sums={"Сумма": 30}, notes=["1 total row", "2 lines below"]),
        _text("mean-and-greatest", "k,v\na,10\nb,20\nc,30\nAverage,20\nMax,30\n", rows=3, sums={"v": 60}, notes=["2 total rows"]),
        _text("max-as-a-name", "name,score\nAnn,10\nMin,17\nBob,20\nMax,12\n", rows=4, sums={"score": 59}),
    ]


def _single() -> list[Case]:
    return [
        _text("one-column-german", "Betrag\n1,5\n2,5\n3,5\n", rows=3, columns=["Betrag"], sums={"Betrag": 7.5}),
        _text("one-column-phones", "tel\n+49 30 123456\n+49 40 999000\n+1 212 5550100\n", rows=3, columns=["tel"], types={"tel": "text"}),
        _text("one-column-dates", "when\nNov 3, 2025\nNov 14, 2025\nDec 1, 2025\n", rows=3, columns=["when"], dates={"when": ("2025-11-03", "2025-12-01")}),
    ]


def _shells() -> list[Case]:
    oracle = "\nDEPTNO     DNAME               SAL\n---------- -------------- ---------\n        10 ACCOUNTING       1250.50\n        20 RESEARCH          800.00\n        30 SALES              50.25\n\n3 rows selected.\n"
    server = "id          name       amt\n----------- ---------- -----------\n          1 Ann Lee          10.50\n          2 NULL             20.50\n\n(2 rows affected)\n"
    return [
        _text("sqlplus", oracle, rows=3, columns=["DEPTNO", "DNAME", "SAL"], sums={"SAL": 2100.75}),
        _text("sqlcmd", server, rows=2, columns=["id", "name", "amt"], sums={"amt": 31}, missing={"name": 1}),
        _text("backslash-quotes", 'k,v\n"say \\"hi\\", ok",5\n"b",6\n\\N,7\n', rows=3, sums={"v": 18}, missing={"k": 1}, tops={"k": {'say "hi", ok': 1, "b": 1}}),
        _text("backslash-paths", 'k,path\n1,C:\\new\\table\n2,C:\\Nope\n', rows=2, tops={"path": {"C:\\new\\table": 1, "C:\\Nope": 1}}),
        _text("json-among-lines", "starting up\n" + "".join(f'{{"ts":"2025-11-29T10:00:0{i}Z","n":{i}}}\n' for i in range(5)) + "bye\n", rows=5, sums={"n": 10}, notes=["2 lines are not valid JSON"]),
    ]


def _money() -> list[Case]:
    """Numbers that only their formats tell to be of several currencies."""
    made = []
    for name, formats, note in (("three", ("#,##0.00 [$€-407]", '"$"#,##0.00', "#,##0.00 [$₽-419]"), True), ("one", ("#,##0.00 [$€-407]",) * 3, False), ("one-spelt-twice", ("#,##0.00 [$€-407]", '#,##0.00 "EUR"', "0.00"), False)):
        book = openpyxl.Workbook()
        for row in (["k", "amt"], ["a", 10], ["b", 20], ["c", 30.5]):
            book.active.append(row)
        for place, form in enumerate(formats, start=2):
            book.active.cell(place, 2).number_format = form
        whole = io.BytesIO()
        book.save(whole)
        expect: dict[str, Any] = {"sums": {"amt": None}, "notes": ["mixes units"]} if note else {"sums": {"amt": 60.5}, "no_notes": ["mixes"]}
        made.append(Case(f"edge-money-{name}", "m.xlsx", whole.getvalue(), {"rows": 3, **expect}))
    return made
