"""A Word document and a PDF from Markdown or text, or as a short report on a table."""

from __future__ import annotations

import os
import re

from sandpiper import answer, digest, office, pdf, refuse
from sandpiper.inputs import Job, job
from sandpiper.markdown import code, escape
from sandpiper.words import clean

OUT = "/workspace/out"
MOST = 2 << 20  # bytes of text that become one document


def main() -> None:
    work = job(__doc__ or "", title="the document's title")
    say = work.speech
    if not work.paths:
        refuse(say.pick("There is no file to make a document of.", "Нет файла, из которого сделать документ."))
    texts = [p for p in work.paths if p.lower().endswith((".md", ".markdown", ".txt", ".rst"))]
    if texts and len(texts) == len(work.paths):
        title, markdown = _from_texts(texts, work)
        told = ""
    else:
        title, markdown, told = _from_tables(work)
    title = work.options.title or title
    name = re.sub(r"[^\w.-]+", "-", os.path.splitext(os.path.basename(work.paths[0]))[0]).strip("-.") or "document"
    made = []
    for kind, write in (("docx", _docx), ("pdf", _pdf)):
        if _wanted(kind, work.text):
            path = f"{OUT}/{name}.{kind}"
            try:
                write(markdown, path, title, say.language)
            except office.PandocError as error:
                refuse(
                    say.pick(
                        f"The text could not be read as Markdown: {error}", f"Текст не читается как Markdown: {error}"
                    )
                )
            made.append(os.path.basename(path))
    words = len(re.findall(r"\w+", markdown))
    heads = len(re.findall(r"^#{1,6} ", markdown, re.MULTILINE))
    parts = [
        say.pick("Written: ", "Готово: ")
        + say.listed([code(m) for m in made])
        + f" — **{escape(title)}**"
        + say.pick(
            f", {say.number(words, 0)} words, {heads} headings.",
            f", слов: {say.number(words, 0)}, заголовков: {heads}.",
        )
    ]
    answer("\n\n".join(parts + ([told] if told else [])))


def _docx(markdown: str, path: str, title: str, language: str) -> None:
    office.docx(markdown, path, title=title, language=language)


def _pdf(markdown: str, path: str, title: str, language: str) -> None:
    pdf.write(markdown, path, title=title)


def _wanted(kind: str, request: str) -> bool:
    """Both, unless the request names exactly one of them."""
    word = bool(re.search(r"docx|\bword\b|ворд", request, re.IGNORECASE))
    portable = bool(re.search(r"\bpdf\b|пдф", request, re.IGNORECASE))
    return word == portable or (word if kind == "docx" else portable)


def _from_texts(paths: list[str], work: Job) -> tuple[str, str]:
    parts = []
    for path in paths:
        with open(path, "rb") as f:
            raw = f.read(MOST + 1)
        if len(raw) > MOST:
            refuse(
                work.speech.pick(
                    f"{clean(os.path.basename(path))} is over 2 MiB: send a part of it.",
                    f"{clean(os.path.basename(path))} больше 2 МиБ: пришлите часть.",
                )
            )
        text = _decoded(raw)
        parts.append(text if path.lower().endswith((".md", ".markdown")) else _plain(text))
    markdown = "\n\n".join(parts).replace("\r\n", "\n")
    if not markdown.strip():
        refuse(work.speech.pick("The file has no text in it.", "В файле нет текста."))
    first = re.match(r"\s*#\s+(.+)\n?", markdown)
    if first:
        return clean(re.sub(r"[*_`]", "", first[1]), 160), markdown[first.end() :]
    return (
        clean(os.path.splitext(os.path.basename(paths[0]))[0].replace("_", " ").replace("-", " "), 160).capitalize(),
        markdown,
    )


def _decoded(raw: bytes) -> str:
    for encoding in ("utf-8-sig", "utf-16") if raw[:2] in (b"\xff\xfe", b"\xfe\xff") else ("utf-8-sig", "cp1251"):
        try:
            return raw.decode(encoding)
        except UnicodeDecodeError:
            continue
    return raw.decode("utf-8", "replace")


def _plain(text: str) -> str:
    """Plain text as Markdown that shows the same: paragraphs, lines kept, nothing marked."""
    paragraphs = re.split(r"\n\s*\n", text.strip())
    return "\n\n".join(
        "\\\n".join(re.sub(r"([\\`*_{}\[\]<>#|~$^@+-])", r"\\\1", line.strip()) for line in p.splitlines())
        for p in paragraphs
    )


def _from_tables(work: Job) -> tuple[str, str, str]:
    say, told = work.speech, digest.make(work)
    parts = [*told.sentences]
    for picture in told.pictures:
        parts += [f"## {escape(picture.headline, 160)}", f"![{escape(picture.alt)}]({picture.path})"]
    if told.rows:
        parts += [f"## {escape(say.heading(told.head[0]))}", digest.table(told)]
    about = [say.pick("Understood as: ", "Понято так: ") + told.understood + "."] + [escape(n, 200) for n in told.notes]
    if told.period:
        about.insert(0, say.pick("Period: ", "Период: ") + told.period + ".")
    parts += [f"## {say.pick('About the data', 'О данных')}", "\n".join(f"- {line}" for line in about)]
    return told.title, "\n\n".join(parts), "\n\n".join([*told.sentences, about[0]])


if __name__ == "__main__":
    main()
