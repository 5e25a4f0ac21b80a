"""Dumps, consoles, logs and JSON as tools write them, and tables that stand in odd frames."""

from __future__ import annotations

import gzip
import io
import json
import re
import zipfile
from typing import Any

import openpyxl
from harness import Case


def cases() -> list[Case]:
    return [*_databases(), *_consoles(), *_logs(), *_json(), *_totals(), *_headers(), *_dialects(), *_workbooks(), *_refused()]


def _text(name: str, file: str, text: str, codec: str = "utf-8", **expect: Any) -> Case:
    return Case(f"dump-{name}", file, text.encode(codec), expect)


def _databases() -> list[Case]:
    postgres = (
        "--\n-- PostgreSQL database dump\n--\nSET client_encoding = 'UTF8';\nCREATE TABLE public.orders (\n    id integer NOT NULL,\n    name text,\n    amount numeric(10,2)\n);\n"
        "COPY public.orders (id, name, amount) FROM stdin;\n1\tAnn\\tX\t12.50\n2\t\\N\t0.50\n3\tЧай\t7.00\n\\.\n\nCOPY public.users (id, email) FROM stdin;\n1\ta@b.c\n2\td@e.f\n\\.\n"
    )
    mysql = (
        "-- MySQL dump 10.13\nDROP TABLE IF EXISTS `t`;\nCREATE TABLE `t` (\n  `id` int(11) NOT NULL,\n  `name` varchar(20) DEFAULT NULL,\n  `amt` decimal(10,2),\n  PRIMARY KEY (`id`)\n) ENGINE=InnoDB;\n"
        "INSERT INTO `t` VALUES (1,'O\\'Hara, J (x)',12.50),(2,NULL,0.50),(3,'x;y',7.00);\nINSERT INTO `t` VALUES (4,'it''s',1.00);\n"
    )
    server = "INSERT [dbo].[Sales] ([Id], [Город], [Amt]) VALUES (1, N'Рига', CAST(12.50 AS Decimal(10, 2)))\nINSERT INTO [dbo].[Sales] ([Id], [Город], [Amt]) VALUES (2, N'Осло', 7.5)\nINSERT INTO [dbo].[Sales] ([Id], [Город], [Amt]) VALUES (3, NULL, 2)\n"
    return [
        _text("postgres", "dump.sql", postgres, kind="sql", rows=3, sums={"amount": 20}, missing={"name": 1}, sheets={"orders": {"rows": 3}, "users": {"rows": 2}}),
        _text("mysql", "dump.sql", mysql, kind="sql", columns=["id", "name", "amt"], rows=4, sums={"amt": 21}, missing={"name": 1}, tops={"name": {"O'Hara, J (x)": 1, "x;y": 1, "it's": 1}}),
        _text("mysql-cut", "dump.sql", mysql[: mysql.index(",7.00)")], rows=2, sums={"amt": 13}, notes=["cut off"]),
        _text("sql-server", "script.sql", server, "utf-16", rows=3, sums={"Amt": 22}, missing={"Город": 1}),
        _text("psql-records", "out.txt", "-[ RECORD 1 ]---\nid   | 1\nname | Ann\namt  | 10.5\n-[ RECORD 2 ]---\nid   | 2\nname | Bob\namt  | 20.5\n", rows=2, columns=["id", "name", "amt"], sums={"amt": 31}),
        _text("mysql-records", "out.txt", "*************************** 1. row ***************************\n  id: 1\nname: Ann\n amt: 10.5\n*************************** 2. row ***************************\n  id: 2\nname: NULL\n amt: 20.5\n2 rows in set (0.00 sec)\n", rows=2, sums={"amt": 31}, missing={"name": 1}),
    ]


def _consoles() -> list[Case]:
    ps = (
        "USER         PID %CPU %MEM    VSZ   RSS TTY      STAT START   TIME COMMAND\nroot           1  0.0  0.1 168000 11000 ?        Ss   Nov01   1:23 /sbin/init splash\n"
        "root           2  0.5  0.0      0     0 ?        S    Nov01   0:00 [kthreadd]\nme          4242 12.5  3.1 999000 55000 pts/0    R+   20:00   0:01 python x.py --a b\n"
    )
    df = "Filesystem      Size  Used Avail Use% Mounted on\n/dev/sda1        50G   20G   30G  40% /\ntmpfs           1.9G     0  1.9G   0% /dev/shm\n/dev/sdb1       1.0T  900G  100G  90% /data disk\n"
    fixed = "ID    NAME           AMOUNT DATE\n1     Ann Lee          5.50 2025-11-01\n2     Bob            100.25 2025-11-02\n3     Long Name Here   0.25 2025-11-03\n"
    return [
        _text("ps", "ps.txt", ps, rows=3, sums={"RSS": 66000, "%CPU": 13}, tops={"COMMAND": {"/sbin/init splash": 1, "[kthreadd]": 1, "python x.py --a b": 1}}),
        _text("df", "df.txt", df, rows=3, columns=["Filesystem", "Size", "Used", "Avail", "Use%", "Mounted on"], sums={"Use%": 130}),
        _text("one-blank-apart", "list.txt", fixed, rows=3, columns=["ID", "NAME", "AMOUNT", "DATE"], sums={"AMOUNT": 106}, dates={"DATE": ("2025-11-01", "2025-11-03")}),
        _text("matlab", "m.txt", "   1.2300000e+02   4.5600000e+00  -7.0000000e-01\n   1.0000000e+00   2.0000000e+00   3.0000000e+00\n", rows=2, sums={"column_1": 124, "column_3": 2.3}),
        _text("numpy", "m.txt", "# t x y\n0.0e+00 1.5e+00 2.0e+00\n1.0e+00 2.5e+00 4.0e+00\n2.0e+00 3.5e+00 6.0e+00\n", rows=3, columns=["t", "x", "y"], sums={"x": 7.5, "y": 12}),
        _text("r-table", "m.txt", '"name" "n" "f"\n"1" "Ann Lee" 5 TRUE\n"2" "Bob" 7 FALSE\n"3" "Cy" NA TRUE\n', rows=3, columns=["column_1", "name", "n", "f"], sums={"n": 12}, types={"f": "boolean"}),
        _text("r-table-named", "m.tsv", "mpg\tcyl\nMazda RX4\t21\t6\nDatsun 710\t22.8\t4\nValiant\t18.1\t6\n", rows=3, columns=["column_1", "mpg", "cyl"], sums={"mpg": 61.9, "cyl": 16}),
        _text("more-cells-than-names", "events.csv", "Level,When,Code\nInfo,29.11.2025 20:00:00,12,started\nInfo,30.11.2025 20:00:00,7,bad\n", rows=2, columns=["Level", "When", "Code", "column_4"], sums={"Code": 19}),
    ]


def _logs() -> list[Case]:
    lines = [f'192.0.2.{i} - - [29/Nov/2025:20:00:0{i} +0000] "GET /p?x={i} HTTP/1.1" {status} {size} "-" "curl/8.0"' for i, status, size in ((1, 200, 512), (2, 404, 0), (3, 500, 1024), (4, 200, 99))]
    garbage = '192.0.2.9 - frank [29/Nov/2025:20:00:09 +0000] "\\x16\\x03\\x01" 400 150 "-" "Mozilla \\"q\\""'
    iis = "#Software: IIS\n#Version: 1.0\n#Fields: date time cs-method cs-uri-stem sc-status time-taken\n2025-11-29 20:00:00 GET / 200 15\n2025-11-29 20:00:01 GET /a 404 5\n"
    again = "#Fields: date time cs-uri-stem sc-status sc-bytes time-taken\n2025-11-29 21:00:01 /b 200 77 30\n"
    return [
        _text("access-garbage", "access.log", "\n".join([*lines, garbage]) + "\n", kind="log", rows=5, sums={"bytes": 1785}, no_notes=["left out"]),
        _text("access-common-garbage", "access.log", "\n".join(line.split(' "-"')[0] for line in [*lines, garbage]) + "\n", kind="log", rows=5, sums={"bytes": 1785}),
        _text("access-hosts", "access.log", "".join(f"www.example.org:443 {line}\n" for line in lines), kind="log", rows=4, sums={"bytes": 1635}, tops={"vhost": {"www.example.org:443": 4}}),
        _text("iis", "ex.log", iis, kind="log", rows=2, sums={"time-taken": 20}),
        _text("iis-fields-change", "ex.log", iis + again, kind="log", rows=3, sums={"time-taken": 50, "sc-bytes": 77}, missing={"cs-method": 1}),
        _text("cloudfront", "E1.log", "#Version: 1.0\n#Fields: date time x-edge-location sc-bytes c-ip\n2025-11-29\t20:00:00\tFRA2\t100\t192.0.2.1\n2025-11-29\t20:00:01\tFRA2\t250\t-\n", kind="log", rows=2, sums={"sc-bytes": 350}, missing={"c-ip": 1}),
    ]


def _json() -> list[Case]:
    def made(name: str, value: Any, **expect: Any) -> Case:
        return _text(name, f"{name}.json", value if isinstance(value, str) else json.dumps(value), **expect)

    return [
        made("table-schema", {"schema": {"fields": [{"name": "i", "type": "integer"}, {"name": "a", "type": "integer"}], "pandas_version": "1.4.0"}, "data": [{"i": 0, "a": 1}, {"i": 1, "a": 2}]}, rows=2, columns=["i", "a"], sums={"a": 3}),
        made("columns-and-rows", {"columns": [{"name": "city"}, {"name": "n"}], "rows": [["A", 1], ["B", 2]]}, rows=2, columns=["city", "n"], sums={"n": 3}),
        made("fields-and-values", {"took": 3, "fields": ["city", "n"], "values": [["A", 1], ["B", 2], ["C", 4]]}, rows=3, columns=["city", "n"], sums={"n": 7}),
        made("keyed-below", {"users": {f"-N{i}": {"age": 20 + i, "city": "X"} for i in range(5)}}, rows=5, sums={"age": 110}),
        made("one-after-another", '{"a":1}{"a":2}\n{"a":3}', rows=3, sums={"a": 6}),
        made("pretty-after-another", '{\n "a": 1\n}\n{\n "a": 2\n}\n', rows=2, sums={"a": 3}),
        made("with-remarks", '// made by hand\n[{"a":1},\n {"a":2},]\n', rows=2, sums={"a": 3}),
        made("cut", '[{"a":1},{"a":2},{"a":', refusal="cut off"),
        made("server-error", {"error": {"code": 401, "message": "Invalid token"}}, refusal="an error that a server answered"),
    ]


def _totals() -> list[Case]:
    ads = (
        'Campaign report\n"November 1, 2025 - November 28, 2025"\nCampaign status,Campaign,Budget,Impr.,Clicks,Cost\nEnabled,Brand,50.00,"10,000",500,250.00\n'
        'Paused,Generic,100.00,"2,000",10,12.00\nEnabled,New, --,0,0,0.00\nTotal: Campaigns, --, --,"12,000",510,262.00\nTotal: Account, --,150.00,"12,000",510,262.00\n'
    )
    bank = "Konto;123\n\nBuchungstag;Wert;Text;Soll;Haben\n03.11.2025;03.11.2025;Miete;-800,00;\n05.11.2025;05.11.2025;Lohn;;2.500,00\n28.11.2025;28.11.2025;Strom;-45,10;\nKontostand;30.11.2025;;12.345,67;\n"
    russian = "Дата;Контрагент;Сумма\nВходящий остаток;;1000,00\n03.11.2025;Ромашка;10,50\n14.11.2025;Лютик;20,00\n28.11.2025;Мак;5,00\nИсходящий остаток;;1035,50\n"
    groups = "Склад;Товар;Кол-во;Сумма\nОсновной;Стул;10;800,5\nОсновной;Стол;5;1200\nИтого по складу;;15;2000,5\nЗапасной;Шкаф;3;900\nИтого по складу;;3;900\nИтого;;18;2900,5\n"
    analytics = (
        'Channel,Sessions,Bounce Rate,Avg. Duration,Revenue\nOrganic,"12,345",45.10%,00:01:23,"$1,200.50"\nDirect,"1,005",60.00%,00:00:59,$0.00\nReferral,99,12.34%,01:02:03,$99.50\n,"13,449",46.00%,00:01:20,"$1,300.00"\n'
        '\nDay Index,Sessions\n11/1/25,"2,000"\n11/2/25,"1,900"\n11/13/25,"9,549"\n,"13,449"\n'
    )
    alipay = (
        "支付宝交易记录明细查询\n账号:[a@b.cn]\n---------------交易记录明细列表------------\n交易号                  ,交易创建时间              ,商品名称,金额（元）,收/支     ,交易状态    ,\n"
        + "".join(f"20251101220014123456789012{i}\t,2025-11-0{i} 10:00:00 ,咖啡,{i}5.00   ,支出      ,交易成功    ,\n" for i in (1, 2, 3))
        + "-----------------------------------------\n共3笔记录\n已收入:1笔,5.00元\n导出时间:[2025-11-29 20:00:00]    用户:张三\n"
    )
    return [
        _text("totals-named", "ads.csv", ads, rows=3, sums={"Impr.": 12000, "Clicks": 510, "Cost": 262, "Budget": 150}, notes=["2 total rows"]),
        _text("balance-below", "konto.csv", bank, "cp1252", rows=3, sums={"Soll": -845.1, "Haben": 2500}, dates={"Buchungstag": ("2025-11-03", "2025-11-28")}, notes=["1 total row"]),
        _text("balances-around", "vypiska.csv", russian, "cp1251", rows=3, sums={"Сумма": 35.5}, notes=["2 total rows"]),
        _text("balance-column", "acc.csv", "Balance,Date\n10.5,2025-11-01\n20,2025-11-02\n5,2025-11-03\n", rows=3, sums={"Balance": 35.5}),
        _text("totals-of-one-row", "sklad.csv", groups, rows=3, sums={"Сумма": 2900.5, "Кол-во": 18}, notes=["3 total rows"]),
        _text("two-tables-with-bare-totals", "ga.csv", analytics, rows=3, sums={"Sessions": 13449, "Revenue": 1300}, sheets={"table 2": {"rows": 3}}),
        _text("alipay", "alipay.csv", alipay, "gb18030", rows=3, sums={"金额（元）": 75}, types={"交易号": "text"}, dates={"交易创建时间": ("2025-11-01T10:00:00", "2025-11-03T10:00:00")}),
    ]


def _headers() -> list[Case]:
    qualtrics = (
        'StartDate,Q1,Q2_1\nStart Date,How old are you?,Rate us - A\n"{""ImportId"":""startDate""}","{""ImportId"":""QID1""}","{""ImportId"":""QID2_1""}"\n'
        "2025-11-01 10:00:00,25,5\n2025-11-02 10:00:00,35,4\n2025-11-03 10:00:00,45,3\n"
    )
    census = (
        'GEO_ID,NAME,B01001_001E,B01001_001M\nGeography,Geographic Area Name,Estimate!!Total,Margin of Error!!Total\n0500000US01001,"Autauga, Alabama",58805,*****\n'
        '0500000US01003,"Baldwin, Alabama",231767,*****\n0500000US01005,"Barbour, Alabama",25223,***\n'
    )
    return [
        _text("survey-questions", "survey.csv", qualtrics, rows=3, columns=["StartDate", "Q1", "Q2_1"], sums={"Q1": 105, "Q2_1": 12}, notes=["2 rows of labels"]),
        _text("census-labels", "acs.csv", census, rows=3, sums={"B01001_001E": 315795}, notes=["1 row of labels"]),
        _text("two-rows-of-names", "pivot.csv", ",2023,2023,2024\n,sum,mean,sum\nA,1,2,3\nB,4,5,6\n", rows=2, columns=["column_1", "2023 sum", "2023 mean", "2024 sum"], sums={"2024 sum": 9}),
        _text("absent-first", "a.csv", "name,score,rank\nAnn,absent,-\nBob,5,1\nCy,7,2\n", rows=3),
    ]


def _dialects() -> list[Case]:
    return [
        _text("colons", "ratings.dat", "".join(f"{i}::{100 + i}::{i % 5 + 1}::97830{i:04d}\n" for i in range(1, 20)), rows=19, delimiter="::", sums={"column_2": 2090}),
        _text("bar-tilde-bar", "a.txt", "id|~|name|~|amt\n1|~|a,b|~|5.5\n2|~|c|~|6.5\n", rows=2, delimiter="|~|", columns=["id", "name", "amt"], sums={"amt": 12}),
        _text("wiki-header", "a.txt", "||City||Pop||\n|A|10|\n|C|20|\n", rows=2, columns=["City", "Pop"], sums={"Pop": 30}),
        _text("words-in-quotes", "a.csv", '"k","said"\n"k0","three of us went there"\n"k1","and none of them came back"\n', rows=2, columns=["k", "said"]),
        _text("very-ragged", "a.csv", "a,b,c\n1,2,3\n4,5\n6,7,8,9\n", rows=3, sums={"a": 11}, notes=["more cells", "fewer cells"]),
        _text("labview", "a.lvm", "LabVIEW Measurement\t\nSeparator\tTab\n***End_of_Header***\t\n\t\nChannels\t2\t\t\n***End_of_Header***\t\t\t\nX_Value\tVoltage\tCurrent\tComment\n0,0\t1,5\t2,5\t\n0,1\t2,5\t3,5\t\n0,2\t3,5\t4,5\t\n", rows=3, sums={"Voltage": 7.5, "Current": 10.5}),
        _text("long-cell", "a.csv", 'a,b\n1,"' + "x," * 700_000 + '"\n2,y\n', rows=2, sums={"a": 3}),
        _text("dashes", "a.csv", "d;n\n" + "".join("-" * 3000 + ";" + "0" * 3000 + "." + "1" * 3000 + "\n" for _ in range(40)), rows=40),
    ]


def _workbook(rows: list[list[Any]], merged: tuple[str, ...] = ()) -> bytes:
    book = openpyxl.Workbook()
    sheet = book.active
    for row in rows:
        sheet.append(row)
    for cells in merged:
        sheet.merge_cells(cells)
    whole = io.BytesIO()
    book.save(whole)
    return whole.getvalue()


def _strict(data: bytes) -> bytes:
    """The workbook as Excel's "Strict Open XML Spreadsheet" has it."""
    whole = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as old, zipfile.ZipFile(whole, "w") as new:
        for name in old.namelist():
            content = old.read(name)
            content = content.replace(b"http://schemas.openxmlformats.org/spreadsheetml/2006/main", b"http://purl.oclc.org/ooxml/spreadsheetml/main")
            new.writestr(name, re.sub(rb"http://schemas.openxmlformats.org/officeDocument/2006/relationships", b"http://purl.oclc.org/ooxml/officeDocument/relationships", content))
    return whole.getvalue()


def _workbooks() -> list[Case]:
    cities = [["Имя", "n"], ["Ян", 1], ["Яна", 2]]
    stock = [
        ['ООО "Ромашка"'], ["Ведомость по товарам"], [], ["Склад", "Товар", "Количество", None, None, "Сумма"], [None, None, "Приход", "Расход", "Остаток", None],
        ["Основной", "Стул", 10, 2, 8, 800.5], [None, "Стол", 5, 1, 4, 1200], ["Итого по складу", None, 15, 3, 12, 2000.5], ["Запасной", "Шкаф", 3, 0, 3, 900], ["Итого по складу", None, 3, 0, 3, 900],
        ["Итого", None, 18, 3, 15, 2900.5],
    ]  # fmt: skip
    plan = [["Region", "Q1", None, "Q2", None], [None, "Plan", "Fact", "Plan", "Fact"], ["North", 1, 2, 3, 4], ["South", 10, 20, 30, 40]]
    return [
        Case("dump-strict", "strict.xlsx", _strict(_workbook(cities)), {"kind": "xlsx", "rows": 2, "sums": {"n": 3}, "tops": {"Имя": {"Ян": 1, "Яна": 1}}}),
        Case("dump-turnover", "Ведомость.xlsx", _workbook(stock, ("A4:A5", "B4:B5", "C4:E4", "F4:F5", "A6:A7")), {"rows": 3, "columns": ["Склад", "Товар", "Количество Приход", "Количество Расход", "Количество Остаток", "Сумма"], "sums": {"Сумма": 2900.5}, "notes": ["3 total rows"]}),
        Case("dump-plan-and-fact", "plan.xlsx", _workbook(plan, ("A1:A2", "B1:C1", "D1:E1")), {"rows": 2, "columns": ["Region", "Q1 Plan", "Q1 Fact", "Q2 Plan", "Q2 Fact"], "sums": {"Q2 Fact": 44}}),
    ]


def _refused() -> list[Case]:
    numbers = io.BytesIO()
    with zipfile.ZipFile(numbers, "w") as archive:
        archive.writestr("Index/Document.iwa", b"\0" * 10)
        archive.writestr("Metadata/Properties.plist", b"x")
    dbase = b"\x03\x7d\x0b\x1d\x02\0\0\0\x41\0\x0c\0" + b"\0" * 20 + b"N" + b"\0" * 10 + b"N\0\0\0\0\x0b" + b"\0" * 15 + b"\x0d  " + b"          1 " + b"          2\x1a"
    made = [
        ("matlab-file", b"MATLAB 5.0 MAT-file, Platform: GLNXA64" + b" " * 86 + b"\0\1IM" + b"\0" * 100, "MATLAB"), ("pickle", b"\x80\x04\x95\x10\0\0\0\0\0\0\0}\x94\x8c\x01a\x94K\x01s.", "pickle"),
        ("spss", b"$FL2@(#) SPSS DATA FILE MS Windows 25.0" + b"\0" * 200, "SPSS"), ("stata", b"<stata_dta><header><release>118</release>" + b"\0" * 200, "Stata"),
        ("r-data", gzip.compress(b"X\n\0\0\0\3\0\4\1\0" + b"\0" * 200), "R data"), ("dbase", dbase, "dBASE"), ("numbers", numbers.getvalue(), "Apple Numbers"),
        ("pgp", b"-----BEGIN PGP MESSAGE-----\n\nhQEMA\n=abcd\n-----END PGP MESSAGE-----\n", "encrypted with PGP"),
        ("lfs", b"version https://git-lfs.github.com/spec/v1\noid sha256:4d7a214614ab2935\nsize 12345\n", "Git LFS pointer"),
        ("denied", b'<?xml version="1.0" encoding="UTF-8"?>\n<Error><Code>AccessDenied</Code><Message>Access Denied</Message></Error>', "an error that a server answered"),
    ]  # fmt: skip
    return [Case(f"dump-refused-{name}", "data.csv", content, {"refusal": pattern}) for name, content, pattern in made]
