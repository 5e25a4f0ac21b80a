"""Slides from Markdown, or from a table with charts and headlines."""

from __future__ import annotations

import os
import re
import zipfile

from sandpiper import answer, digest, office, refuse
from sandpiper.inputs import Job, job
from sandpiper.markdown import code, escape
from sandpiper.words import clean

OUT = "/workspace/out"
MOST_TEXT = 1 << 20
POINTS, POINT_ROWS, TABLE_ROWS = 7, 11, 9
ROW = 62  # characters of a point that fit in one line


def main() -> None:
    work = job(__doc__ or "", title="the deck's title")
    say = work.speech
    if not work.paths:
        refuse(say.pick("There is no file to make slides of.", "Нет файла, из которого сделать слайды."))
    texts = [p for p in work.paths if p.lower().endswith((".md", ".markdown", ".txt"))]
    if texts and len(texts) == len(work.paths):
        title, subtitle, markdown = _from_texts(texts, work)
        told = ""
    else:
        title, subtitle, markdown, told = _from_tables(work)
    title = work.options.title or title
    name = re.sub(r"[^\w.-]+", "-", os.path.splitext(os.path.basename(work.paths[0]))[0]).strip("-.") or "slides"
    path = f"{OUT}/{name}.pptx"
    try:
        office.pptx(markdown, path, title=title, subtitle=subtitle, language=say.language)
    except office.PandocError as error:
        refuse(say.pick(f"The text could not be read as Markdown: {error}", f"Текст не читается как Markdown: {error}"))
    with zipfile.ZipFile(path) as z:
        count = sum(bool(re.fullmatch(r"ppt/slides/slide\d+\.xml", n)) for n in z.namelist())
    titles = [clean(re.sub(r"\\(.)", r"\1", t), 80) for t in re.findall(r"^##? (.+)$", markdown, re.MULTILINE)]
    slides = (
        say.count(count, "slide", "slides") if say.language == "en" else say.count(count, "слайд", "слайда", "слайдов")
    )
    parts = [
        f"{code(os.path.basename(path))}: **{escape(title)}**, {slides}.",
        "\n".join(f"{n}. {escape(t)}" for n, t in enumerate([title, *titles], start=1)),
    ]
    answer("\n\n".join(parts + ([told] if told else [])))


def _from_texts(paths: list[str], work: Job) -> tuple[str, str, str]:
    parts = []
    for path in paths:
        with open(path, "rb") as f:
            raw = f.read(MOST_TEXT + 1)
        if len(raw) > MOST_TEXT:
            refuse(
                work.speech.pick(
                    "The text is over 1 MiB, too long for slides.", "Текст больше 1 МиБ: для слайдов слишком длинно."
                )
            )
        parts.append(raw.decode("utf-8-sig", "replace").replace("\r\n", "\n"))
    markdown = "\n\n".join(parts)
    if not markdown.strip():
        refuse(work.speech.pick("The file has no text in it.", "В файле нет текста."))
    title = os.path.splitext(os.path.basename(paths[0]))[0].replace("_", " ").replace("-", " ").capitalize()
    heads = re.findall(r"^# (.+)$", markdown, re.MULTILINE)
    if len(heads) == 1:  # the only section is the deck's title, and the rest are its slides
        title = re.sub(r"[*_`]", "", heads[0])
        markdown = re.sub(r"^# .+\n?", "", markdown, count=1, flags=re.MULTILINE)
        if "\n## " not in "\n" + markdown:
            markdown = re.sub(r"^### ", "## ", markdown, flags=re.MULTILINE)
    return clean(title, 120), "", "\n".join(_fitted(markdown))


def _fitted(markdown: str) -> list[str]:
    """The lines of a deck, with slides that are too full continued on a next one."""
    out: list[str] = []
    title, part, used, rows = "", 1, 0, 0
    fenced = False
    for line in markdown.splitlines():
        if line.startswith(("```", ":::")):
            fenced = line.startswith("```") and not fenced
        if not fenced and re.match(r"#{1,2} ", line):
            title, part, used, rows = line, 1, 0, 0
        elif not fenced and line.startswith("|"):
            rows += 1
            if rows > TABLE_ROWS + 2:
                if rows == TABLE_ROWS + 3:
                    out += ["", "*…*"]
                continue
        elif not fenced and (point := re.match(r"(?:[-*+]|\d+[.)]) +(.*)", line)):
            need = 1 + len(point[1]) // ROW
            if title.startswith("## ") and (used + need > POINT_ROWS or used >= POINTS and need + used > POINTS):
                part += 1
                out += ["", f"{title} ({part})", ""]
                used = 0
            used += need
        elif not fenced and line.strip() and title.startswith("## ") and not line.startswith((" ", "!", ">", ":")):
            used += 1 + len(line) // (ROW + 10)
        out.append(line)
    return out


def _from_tables(work: Job) -> tuple[str, str, str, str]:
    say, told = work.speech, digest.make(work)
    slides = [f"## {say.pick('The main figures', 'Главное')}", "\n".join(f"- {s}" for s in told.sentences)]
    for picture in told.pictures:
        slides += [
            f"## {escape(picture.headline, 120)}",
            f'![]({picture.path} "{picture.alt.replace(chr(34), chr(39))}")',
        ]
    if told.rows:
        slides += [f"## {escape(told.title, 120)}", digest.table(told)]
    about = [say.pick("Understood as: ", "Понято так: ") + told.understood + "."] + [
        escape(n, 160) for n in told.notes[:4]
    ]
    slides += [f"## {say.pick('About the data', 'О данных')}", "\n".join(f"- {line}" for line in about)]
    return told.title, told.period, "\n\n".join(slides), "\n\n".join([*told.sentences, about[0]])


if __name__ == "__main__":
    main()
