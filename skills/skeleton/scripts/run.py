"""One sentence: what is read, what is written."""

from __future__ import annotations

from sandpiper import answer, excel
from sandpiper.inputs import job
from sandpiper.markdown import escape


def main() -> None:
    work = job(__doc__ or "")
    say = work.speech
    parts = []
    with excel.Workbook("/workspace/out/result.xlsx") as book:
        for table in work.tables():
            book.table(table.frame, sheet=table.name)
            rows = say.count(len(table.frame), "row", "rows") if say.language == "en" else say.count(len(table.frame), "строка", "строки", "строк")
            parts.append(f"**{escape(table.name)}**: {rows}.")
    answer("\n\n".join(parts))


main()
