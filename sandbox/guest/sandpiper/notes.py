"""What a careful analyst would tell a colleague about a file, in two languages.

A note is a code and its arguments until it is shown; so the same note serves
profile.json, the prompt (where values may have to stay out) and the report.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from .words import quoted


@dataclass(frozen=True)
class Note:
    """One thing noticed. ``column`` is "" for a note on the whole table."""

    code: str
    column: str = ""
    args: Mapping[str, Any] = field(default_factory=dict)


_TEXTS: dict[str, tuple[str, str]] = {
    # Files and layout.
    "preamble": ("{count} line(s) above the header are left out", "над заголовком пропущено строк: {count}"),
    "no_header": ("there is no header row; columns are named by position", "строки заголовка нет; столбцы названы по номеру"),
    "header_rows": ("the header spans {count} rows, joined into one", "заголовок занимает строк: {count}; они соединены"),
    "units_row": ("a row of units under the header is not data: {units}", "строка единиц под заголовком не считается данными: {units}"),
    "label_rows": ("{count} row(s) of labels under the header are not data", "строк подписей под заголовком: {count}; они не считаются данными"),
    "footer": ("{count} line(s) below the data are left out", "под данными пропущено строк: {count}"),
    "totals": ("{count} total row(s) are left out of the data, so that nothing is counted twice", "итоговые строки ({count}) не входят в данные, чтобы ничего не считать дважды"),
    "ragged_short": ("{count} row(s) have fewer cells than the header (first: row {row}); the rest is taken as missing", "строк короче заголовка: {count} (первая — {row}); недостающее считается пропуском"),
    "ragged_long": ("{count} row(s) have more cells than the header (first: row {row}); what is beyond it was not read", "строк длиннее заголовка: {count} (первая — {row}); лишние ячейки не прочитаны"),
    "repeated_header": ("the header is repeated {count} time(s) inside the data; left out", "заголовок повторён внутри данных ({count}); повторы пропущены"),
    "blank_rows": ("{count} blank row(s) are left out", "пропущено пустых строк: {count}"),
    "blank_columns": ("{count} column(s) without name and values are left out", "пропущено столбцов без имени и значений: {count}"),
    "duplicate_rows": ("{count} row(s) repeat another row exactly", "строк, полностью повторяющих другую: {count}"),
    "unnamed_cells": ("{count} cell(s) are in columns without a name and were not read", "ячеек в столбцах без имени: {count}; они не прочитаны"),
    "duplicate_names": ("the header has names twice: {names}; the later ones are numbered", "в заголовке повторяются имена: {names}; повторы пронумерованы"),
    "unnamed": ("{count} column(s) have no name in the header and are named by position", "столбцов без имени: {count}; они названы по номеру"),
    "stray_quotes": ("quote marks are not closed; read without quoting", "кавычки не закрыты; прочитано без учёта кавычек"),
    "nul_bytes": ("{count} NUL byte(s) are left out", "пропущено нулевых байтов: {count}"),
    "bad_bytes": ("{count} byte(s) are not valid {encoding} and stand as �", "байтов, недопустимых в {encoding}: {count}; на их месте �"),
    "encoding_guess": ("the encoding is a guess ({encoding}); check names with special letters", "кодировка определена предположительно ({encoding}); проверьте буквы в названиях"),
    "extension": ("by its content it is {kind}, whatever its name says", "по содержимому это {kind}, что бы ни говорило имя"),
    "columns_cut": ("{total} columns; only the first {read} were read", "столбцов {total}; прочитаны только первые {read}"),
    "rows_cut": ("only the first {read} rows were read; all figures are of these", "прочитаны только первые строки ({read}); все числа — по ним"),
    "in_chunks": ("read in {count} chunks; every figure is over all rows", "прочитано частями ({count}); все числа — по всем строкам"),
    "top_estimate": ("the most frequent values are counted approximately", "частоты самых частых значений приблизительны"),
    "fixed_width": ("columns are aligned with spaces, not separated by a mark", "столбцы выровнены пробелами, а не разделены знаком"),
    "sheets_cut": ("{total} sheets; only the first {read} were read", "листов {total}; прочитаны первые {read}"),
    "hidden_sheet": ("sheet {sheet} is hidden", "лист {sheet} скрыт"),
    "other_sheets": ("{count} sheet(s) with data: {sheets}; these figures are of {main}", "листов с данными: {count} ({sheets}); эти числа — по листу {main}"),
    "shared_sheet": ("{count} table(s), some on one sheet: {sheets}; these figures are of {main}", "таблиц: {count}, некоторые на одном листе ({sheets}); эти числа — по {main}"),
    "empty_sheets": ("sheets without data: {sheets}", "листы без данных: {sheets}"),
    "formulas_unvalued": ("{count} formula(s) have no stored value and count as missing: open and save the workbook in Excel", "формул без сохранённого значения: {count}; они считаются пропусками: откройте и сохраните книгу в Excel"),
    "hidden_rows": ("{count} row(s) are hidden (a filter?) and counted all the same", "скрытых строк (фильтр?): {count}; они учтены"),
    "hidden_columns": ("{count} column(s) are hidden and read all the same", "скрытых столбцов: {count}; они прочитаны"),
    "sql_broken": ("the dump ends within a row or a table: it was cut off, and what is missing is not counted", "дамп обрывается внутри строки или таблицы; недостающее не учтено"),
    "bad_lines": ("{count} line(s) are not valid {kind} (first: line {row}) and are left out", "строк, которые не {kind}: {count} (первая — {row}); они пропущены"),
    "late_keys": ("keys that first occur after line {row} were not read", "ключи, впервые встретившиеся после строки {row}, не прочитаны"),
    "nested": ("nested lists are kept as JSON text in {columns}", "вложенные списки оставлены текстом JSON: {columns}"),
    "other_tables": ("{count} table(s) in the file; these figures are of the largest", "таблиц в файле: {count}; эти числа — по самой большой"),
    "json_part": ("the records are under {path}", "записи находятся в {path}"),
    "unpacked": ("unpacked from {kind}", "распаковано из {kind}"),
    "members_cut": ("{total} files in the archive; only {read} were read", "файлов в архиве {total}; прочитано {read}"),
    "unsafe_names": ("{count} member(s) of the archive have a path that leads out of it; only their names were used", "членов архива с путём наружу: {count}; использованы только имена"),
    "log_format": ("{format} lines", "строки вида {format}"),
    "log_other": ("{count} line(s) do not have that form (first: line {row}) and are left out", "строк другого вида: {count} (первая — {row}); они пропущены"),
    "log_continued": ("{count} continuation line(s) are joined to the line before them", "строк-продолжений: {count}; они присоединены к предыдущей"),
    "log_year": ("times have no year; {years} is taken, so that none is in the future", "время без года; принят {years}, чтобы ничего не было в будущем"),
    "document": ("{pages} page(s), {words} word(s) of text, {count} table(s)", "страниц: {pages}, слов: {words}, таблиц: {count}"),
    "prose": ("plain text, not a table: {words} word(s) in {count} line(s)", "обычный текст, не таблица: слов {words}, строк {count}"),
    # Columns.
    "empty": ("is empty", "пуст"),
    "constant": ("has the same value in every row", "содержит одно и то же значение во всех строках"),
    "leading_zeros": ("has leading zeros and is kept as text", "содержит ведущие нули и оставлен текстом"),
    "long_digits": ("has numbers of more than 15 digits and is kept as text, so that none is rounded", "содержит числа длиннее 15 цифр и оставлен текстом, чтобы ничего не округлить"),
    "exponent_ids": ("has codes like 1E5 and is kept as text", "содержит коды вида 1E5 и оставлен текстом"),
    "phone": ("looks like phone numbers and is kept as text", "похож на номера телефонов и оставлен текстом"),
    "version": ("looks like version numbers and is kept as text", "похож на номера версий и оставлен текстом"),
    "na_code": ("NA is taken as a code, not as missing", "NA считается кодом, а не пропуском"),
    "missing_spelt": ("missing is spelt {spellings}", "пропуски записаны как {spellings}"),
    "strays": ("{count} cell(s) are no {kind} and are left out of its figures: {examples}", "ячеек, которые не {kind}: {count}; в расчёты не входят: {examples}"),
    "mixed": ("{some} of {total} cells are numbers, the rest is not: kept as text", "чисел {some} из {total}, остальное — нет: оставлен текстом"),
    "mixed_marks": ("mixes decimal points and decimal commas, and is kept as text", "смешивает десятичные точки и запятые и оставлен текстом"),
    "mixed_units": ("mixes units ({units}); no sum is given", "смешивает единицы ({units}); сумма не считается"),
    "mixed_days": ("mixes day-first and month-first dates, and is kept as text", "смешивает порядок день-месяц и месяц-день и оставлен текстом"),
    "open_marks": ("“{example}” is read as {reading}; nothing in the file says for certain", "«{example}» прочитано как {reading}; точно по файлу не определить"),
    "open_dates": ("day and month cannot be told apart (no value above 12): say which comes first", "день и месяц неразличимы (нет значений больше 12): укажите порядок"),
    "order_from": ("{order} first, decided by {why}", "порядок: {order}; основание — {why}"),
    "formats": ("has {count} date formats: {formats}", "форматов даты: {count} ({formats})"),
    "zones": ("times carry the offsets {zones}; kept, and compared as instants", "время со сдвигами {zones}; они сохранены"),
    "zone_mixed": ("some times have a zone and some have none", "у части времён есть часовой пояс, у части нет"),
    "unit": ("is in {unit}", "единица — {unit}"),
    "percent": ("is in percent: 12.5 stands for 12.5 %", "в процентах: 12,5 означает 12,5 %"),
    "accounting": ("negatives in parentheses are read as negative numbers", "числа в скобках прочитаны как отрицательные"),
    "text_numbers": ("{count} number(s) were stored as text", "чисел, записанных как текст: {count}"),
    "errors": ("{count} cell(s) hold formula errors: {errors}", "ячеек с ошибками формул: {count} ({errors})"),
    "sentinel": ("{value} occurs {count} times and may stand for missing", "значение {value} встречается {count} раз и может означать пропуск"),
    "outlier": ("the {side} value {value} is far from the others (median {median})", "{side} значение {value} далеко от остальных (медиана {median})"),
    "unix_time": ("looks like Unix time in {unit}", "похож на время Unix в {unit}"),
    "unix_read": ("is Unix time in {unit}, read as times in UTC", "время Unix в {unit}; прочитано как время UTC"),
    "excel_days": ("looks like a spreadsheet's day numbers ({example} would be {reading}); kept as numbers, and no sum is given", "похож на номера дней электронной таблицы ({example} — это {reading}); оставлен числами, сумма не считается"),
    "short_years": ("years have two digits: “{example}” is read as {reading}, though the year may come first", "годы из двух цифр: «{example}» прочитано как {reading}, хотя год может стоять первым"),
    "future_years": ("years have two digits and are read as 1970 to 2069, so dates go up to {last}", "годы из двух цифр прочитаны как 1970–2069, поэтому даты доходят до {last}"),
    "buddhist_years": ("years like {last} look like the Buddhist calendar ({last} is {western}); kept as written", "годы вроде {last} похожи на буддийский календарь ({last} — это {western}); оставлены как есть"),
    "rounded": ("is written like {example}: a spreadsheet has rounded it to six digits", "записан как {example}: таблица округлила его до шести цифр"),
    "rounded_ids": ("is written like 1.23457E+12: a spreadsheet has rounded these codes, and their last digits are lost; kept as text", "записан как 1.23457E+12: таблица округлила эти коды, последние цифры потеряны; оставлен текстом"),
    "attached": ("in {some} of {total} cells something is attached to a number, as in {examples}: kept as text, and no sum is given", "чисел с приписками, например {examples}: {some} из {total}; оставлен текстом, сумма не считается"),
    "spaces": ("spaces around the value are cut in {count} cell(s)", "ячеек с пробелами по краям: {count}; пробелы убраны"),
    "case_twins": ("has spellings that differ only in case or spaces, such as {examples}", "есть написания, отличающиеся лишь регистром или пробелами: {examples}"),
    "future": ("has dates after 2100 or before 1900", "содержит даты после 2100 или до 1900 года"),
}
# Words of ours that stand in arguments.
_WORDS_RU = {
    "number": "числа", "date": "даты", "greatest": "наибольшее", "least": "наименьшее", "day": "сначала день", "month": "сначала месяц",
    "the file's other dates": "другие даты файла", "the order of the rows": "порядок строк", "a first field above 12": "первое поле больше 12",
    "a second field above 12": "второе поле больше 12", "dots, which only day-first dates have": "точки между числами", "seconds": "секундах", "milliseconds": "миллисекундах", "microseconds": "микросекундах", "nanoseconds": "наносекундах",
    "delimited text": "текст с разделителями", "tab-separated text": "текст с табуляциями", "an Excel workbook": "книга Excel", "an old Excel workbook": "старая книга Excel",
    "an HTML page": "страница HTML", "web access (combined)": "доступ к веб-серверу (combined)", "web access (common)": "доступ к веб-серверу (common)",
    "web error": "ошибки веб-сервера", "application log": "журнал приложения", "none": "без единицы",
}  # fmt: skip
_MARKS_RU = str.maketrans(",.", "\u00a0,")


def spelt(value: float | int, language: str, *, grouped: bool = True) -> str:
    """A figure in a note as the language writes it; years and the like come as texts.

    What ``1,234`` is read as stands without marks between thousands.
    """
    if not grouped:
        text = f"{value:.15g}"
    else:
        text = f"{value:,}" if isinstance(value, int) else f"{value:,.6g}" if abs(value) < 1e6 else f"{value:,.0f}"
    return text.translate(_MARKS_RU) if language == "ru" else text


def render(note: Note, language: str = "en", *, values: bool = True) -> str:
    """The note as a sentence; with ``values`` False, no cell's text is in it."""
    template = _TEXTS[note.code][1 if language == "ru" else 0]
    args = {}
    for key, value in note.args.items():
        if key in _FROM_CELLS and not values:
            value = "…"
        elif isinstance(value, (int, float)):
            value = spelt(value, language, grouped=key != "reading")
        elif language == "ru" and isinstance(value, str):
            value = _WORDS_RU.get(value, value)
        args[key] = value
    if language != "ru":
        template = _plural(_NUMBERED.sub(lambda m: f"{{{m[1]}}}{m[2]}{'' if note.args.get(m[1]) == 1 else 's'}", template), note.args.get("count"))
    text = template.format(**args)
    if not note.column:
        return text
    return f"{'столбец' if language == 'ru' else 'column'} {quoted(note.column)}: {text}"


# A noun and the number before it: "{pages} page(s)".
_NUMBERED = re.compile(r"\{(\w+)\}([^{}()]*)\(s\)")


def _plural(template: str, count: object) -> str:
    """A template's "{count} row(s) are" as "{count} rows are" or "{count} row is"."""
    if count != 1:
        return template.replace("(s)", "s")
    if " do not " in template:
        template = template.replace(" do not have ", " does not have ").replace(" are ", " is ")
        return template.replace("(s)", "")
    for many, one in ((" are ", " is "), (" were ", " was "), (" have ", " has "), (" repeat ", " repeats "), (" hold ", " holds ")):
        template = template.replace(many, one)
    return template.replace("(s)", "")


# Arguments that hold text or figures of cells.
_FROM_CELLS = frozenset({"examples", "example", "reading", "value", "median", "units", "spellings", "errors"})
