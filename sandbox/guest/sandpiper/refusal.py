"""The one error that a reader raises on purpose, and its sentences."""

from __future__ import annotations

from typing import Any

_TEXTS: dict[str, tuple[str, str]] = {
    "empty": ("The file is empty (0 bytes): export it again and send it once it has content.", "Файл пуст (0 байт): выгрузите его ещё раз и пришлите с содержимым."),
    "blank": ("The file is blank: it holds nothing but spaces and line ends; export it again.", "В файле только пробелы и переводы строк: выгрузите его ещё раз."),
    "header_only": ("The file has a header (columns: {columns}) but no rows under it: check the filter of the export and send it again.", "В файле есть заголовок (столбцов: {columns}), но нет строк: проверьте фильтр выгрузки и пришлите снова."),
    "not_regular": ("It is not a regular file.", "Это не обычный файл."),
    "login": ("This is an HTML page asking for a login, saved in place of the file: sign in, download the file itself and send that.", "Это HTML-страница входа, сохранённая вместо файла: войдите, скачайте сам файл и пришлите его."),
    "html_error": ("This is an HTML page that reports an error, saved in place of the file: download the file again and send that.", "Это HTML-страница с сообщением об ошибке вместо файла: скачайте файл ещё раз."),
    "html_no_table": ("This is an HTML page without a table: save the table itself, as CSV or Excel.", "Это HTML-страница без таблицы: сохраните саму таблицу в CSV или Excel."),
    "password": ("This {kind} file is protected with a password: save a copy without the password and send that.", "Этот файл {kind} защищён паролем: сохраните копию без пароля и пришлите её."),
    "truncated_json": ("The JSON is cut off or broken near line {line}: the export or the upload was not complete, send it again.", "JSON обрывается или повреждён около строки {line}: выгрузка или отправка не завершилась, пришлите файл снова."),
    "json_deep": ("The JSON is nested too deeply to be a table: export the records as a flat list.", "JSON вложен слишком глубоко для таблицы: выгрузите записи плоским списком."),
    "json_no_table": ("The JSON holds no list of records, so there is no table in it: export the records as a list.", "В JSON нет списка записей, то есть таблицы: выгрузите записи списком."),
    "truncated_sql": ("The dump is cut off before the first whole row: the export or the upload was not complete, send it again.", "Дамп обрывается до первой целой строки: выгрузка или отправка не завершилась, пришлите его снова."),
    "pointer": ("This is a Git LFS pointer, not the file that it stands for: fetch the file itself (git lfs pull) and send that.", "Это указатель Git LFS, а не сам файл: получите файл (git lfs pull) и пришлите его."),
    "encrypted": ("This is text encrypted with {kind}: decrypt it and send the file that was in it.", "Это текст, зашифрованный {kind}: расшифруйте его и пришлите сам файл."),
    "error_reply": ("This is an error that a server answered with, saved in place of the file: download the file again and send that.", "Это ответ сервера об ошибке, сохранённый вместо файла: скачайте файл ещё раз и пришлите его."),
    "truncated_xml": ("The XML is cut off or broken near line {line}: the export or the upload was not complete, send it again.", "XML обрывается или повреждён около строки {line}: выгрузка или отправка не завершилась, пришлите файл снова."),
    "xml_no_table": ("The XML holds no elements that repeat, so there is no table in it: export the records as CSV, Excel or JSON.", "В XML нет повторяющихся элементов, то есть таблицы: выгрузите записи в CSV, Excel или JSON."),
    "truncated_archive": ("The {kind} file is cut off or damaged and cannot be unpacked: send it again.", "Файл {kind} обрезан или повреждён и не распаковывается: пришлите его снова."),
    "broken": ("This looks like {a} {kind} file, but it is damaged and cannot be opened: export it again.", "Похоже на файл {kind}, но он повреждён и не открывается: выгрузите его ещё раз."),
    "bomb": ("The file unpacks to far more than its size allows (an archive bomb?): send the table itself, unpacked.", "Файл распаковывается в несоразмерно большой объём (архивная бомба?): пришлите саму таблицу."),
    "entities": ("The file declares XML entities, which a table never needs and attacks do: it was not opened.", "Файл объявляет XML-сущности, которые таблице не нужны, а атакам нужны: он не открыт."),
    "too_large": ("At {size} MiB the file is more than this kind can be read at ({limit} MiB): split it or save it as CSV.", "Файл такого вида ({size} МиБ) слишком велик (предел {limit} МиБ): разделите его или сохраните в CSV."),
    "archive_empty": ("The archive holds no file that could be read.", "В архиве нет файлов, которые можно прочитать."),
    "archive_nested": ("The archive holds archives within archives: unpack it and send the tables.", "В архиве вложенные архивы: распакуйте его и пришлите таблицы."),
    "picture": ("This is a picture ({kind}), not a table: send the data behind it as CSV or Excel.", "Это изображение ({kind}), а не таблица: пришлите сами данные в CSV или Excel."),
    "executable": ("This is an executable program ({kind}), not data: it was neither opened nor run.", "Это исполняемая программа ({kind}), а не данные: она не открыта и не запущена."),
    "media": ("This is {kind}, not a table: send the data as CSV or Excel.", "Это {kind}, а не таблица: пришлите данные в CSV или Excel."),
    "unreadable": ("This is of the kind {kind}, which cannot be read here: save it as {instead} and send that.", "Это файл {kind}, который здесь прочитать нельзя: сохраните его как {instead} и пришлите."),
    "binary": ("This is binary data of no known kind, whatever its name says: send the table as CSV or Excel.", "Это двоичные данные неизвестного вида, что бы ни говорило имя: пришлите таблицу в CSV или Excel."),
    "no_sheet": ("The workbook has no sheet with data in it.", "В книге нет листа с данными."),
    "scanned": ("The PDF has no text in it (a scan?): send the document it was made from, or the data.", "В PDF нет текста (скан?): пришлите исходный документ или данные."),
    "failed": ("The file could not be read as {kind}: export it as CSV and send that.", "Файл не удалось прочитать как {kind}: выгрузите его в CSV и пришлите."),
    "no_such": ("There is no table of that name; there are: {names}.", "Таблицы с таким именем нет; есть: {names}."),
}


class Refusal(ValueError):
    """A file that cannot be read as a table.

    Its text is one sentence for a person: what the file is and what to do. It
    never quotes the file's content.
    """

    def __init__(self, code: str, **args: Any) -> None:
        self.code, self.details = code, args
        super().__init__(self.text())

    def text(self, language: str = "en") -> str:
        """The sentence in "en" or "ru"."""
        kind = str(self.details.get("kind", ""))
        a = "an" if kind[:1] in tuple("AEIOaeio") or kind[:3] in ("XLS", "xls", "ODS") else "a"
        return _TEXTS[self.code][1 if language == "ru" else 0].format(a=a, **self.details)
