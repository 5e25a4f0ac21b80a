"""Word documents and slides from Markdown, through pandoc, in one house style.

    office.docx(markdown, "out/report.docx", title="Weekly report")
    office.pptx(markdown, "out/slides.pptx", title="Weekly report")

Markdown is pandoc's with pipe tables; raw HTML in it is text. Pictures are paths
in the workspace. Headings of level 1 are sections, of level 2 slides.
"""

from __future__ import annotations

import os
import re
import subprocess
import tempfile
import zipfile
from collections.abc import Callable
from typing import NamedTuple

FORMAT = "markdown-raw_html-raw_tex-raw_attribute-tex_math_dollars-citations+pipe_tables-yaml_metadata_block+lists_without_preceding_blankline"
INK, HEADING, RULE, BAND = "262626", "1F4E79", "B8C7D9", "EAF0F7"
_ACCENTS = ("0072B2", "D55E00", "009E73", "CC79A7", "E69F00", "56B4E9")


class PandocError(ValueError):
    """Pandoc could not make the file; the text is its last line."""


def docx(markdown: str, path: str, *, title: str = "", language: str = "en") -> None:
    """Write a Word document: A4, page numbers, styled tables, pictures to the text's width."""
    with tempfile.TemporaryDirectory() as folder:
        reference = os.path.join(folder, "reference.docx")
        _default("reference.docx", reference)
        east = _east(title + markdown)
        _style_docx(reference, east.font)
        raw = os.path.join(folder, "raw.docx")
        _pandoc(markdown, raw, title, language, ["--to", "docx", "--reference-doc", reference])
        _rewrite(raw, path, {"word/styles.xml": lambda xml: _language(xml, east.language)})


def pptx(markdown: str, path: str, *, title: str = "", subtitle: str = "", language: str = "en") -> None:
    """Write slides, 16:9, with real layouts (title, section, content, two columns)."""
    with tempfile.TemporaryDirectory() as folder:
        plain, reference = os.path.join(folder, "plain.pptx"), os.path.join(folder, "reference.pptx")
        _default("reference.pptx", plain)
        _rewrite(
            plain,
            reference,
            {
                "ppt/theme/theme1.xml": lambda xml: _theme(xml, _east(title + subtitle + markdown).font),
                "ppt/slideMasters/slideMaster1.xml": _master,
                r"ppt/slideLayouts/slideLayout\d+\.xml": _layout,
            },
        )
        extra = ["--metadata", f"subtitle={subtitle}"] if subtitle else []
        raw = os.path.join(folder, "raw.pptx")
        _pandoc(
            markdown,
            raw,
            title,
            language,
            [
                "--from",
                FORMAT + "-implicit_figures",
                "--to",
                "pptx",
                "--slide-level",
                "2",
                "--reference-doc",
                reference,
                *extra,
            ],
        )
        _rewrite(raw, path, {r"ppt/slides/slide\d+\.xml": _tables_small})


def _default(name: str, path: str) -> None:
    with open(path, "wb") as f:
        subprocess.run(["pandoc", "--print-default-data-file", name], stdout=f, check=True)


def _pandoc(markdown: str, path: str, title: str, language: str, options: list[str]) -> None:
    os.makedirs(os.path.dirname(path) or ".", exist_ok=True)
    source = [] if "--from" in options else ["--from", FORMAT]
    command = [
        "pandoc",
        *source,
        "--output",
        path,
        "--metadata",
        f"lang={language}",
        "--resource-path",
        "/workspace:/workspace/out:/workspace/in",
    ]
    if title:
        command += ["--metadata", f"title={title}"]
    run = subprocess.run([*command, *options], input=markdown, capture_output=True, text=True, cwd="/workspace")
    if run.returncode:
        raise PandocError((run.stderr.strip().splitlines() or ["pandoc failed"])[-1])


def _language(xml: str, east: str) -> str:
    """Name the East Asian language of a document's styles, which pandoc sets to that of the whole."""
    xml = re.sub(r'(<w:lang\b[^>]*?)\s*w:eastAsia="[^"]*"', r"\1", xml)
    return xml.replace("<w:lang ", f'<w:lang w:eastAsia="{east}" ')


class _East(NamedTuple):
    """The font and language for Chinese, Japanese and Korean: a Latin font has none of their characters."""

    font: str
    language: str


def _east(text: str) -> _East:
    """The font that Windows and Office bring for a text's script (others replace it with their own), or the Latin one."""
    if re.search("[\u3040-\u30ff]", text):
        return _East("Yu Gothic", "ja-JP")
    if re.search("[\uac00-\ud7af]", text):
        return _East("Malgun Gothic", "ko-KR")
    if re.search("[\u2e80-\u2fdf\u3100-\u312f\u3400-\u9fff]", text):
        return _East("Microsoft YaHei", "zh-CN")
    return _East("Calibri", "en-US")


def _style_docx(path: str, east: str) -> None:
    import docx as word
    from docx.enum.text import WD_ALIGN_PARAGRAPH
    from docx.oxml import OxmlElement
    from docx.oxml.ns import qn
    from docx.shared import Cm, Pt, RGBColor

    book = word.Document(path)
    for section in book.sections:
        section.page_width, section.page_height = Cm(21), Cm(29.7)
        section.left_margin = section.right_margin = Cm(2.3)
        section.top_margin = section.bottom_margin = Cm(2.2)
        paragraph = section.footer.paragraphs[0]
        paragraph.alignment = WD_ALIGN_PARAGRAPH.RIGHT
        run = paragraph.add_run()
        run.font.size = Pt(9)
        for kind, text in (("begin", ""), ("", "PAGE"), ("end", "")):
            element = OxmlElement("w:fldChar" if kind else "w:instrText")
            if kind:
                element.set(qn("w:fldCharType"), kind)
            else:
                element.text = text
            run._r.append(element)  # noqa: SLF001 - python-docx has no fields
    sizes = {"Title": 24, "Subtitle": 14, "Heading 1": 18, "Heading 2": 14, "Heading 3": 12, "Heading 4": 11}
    for style in book.styles:
        if style.type != 1:  # paragraphs only
            continue
        fonts = style.element.get_or_add_rPr().get_or_add_rFonts()
        for key in list(fonts.attrib):
            del fonts.attrib[key]
        for key in ("w:ascii", "w:hAnsi", "w:cs"):
            fonts.set(qn(key), "Calibri")
        fonts.set(qn("w:eastAsia"), east)
        if style.name in sizes:
            style.font.size, style.font.bold = Pt(sizes[style.name]), style.name != "Subtitle"
            style.font.color.rgb = RGBColor.from_string(HEADING)
        if style.name == "Title":
            style.paragraph_format.alignment = WD_ALIGN_PARAGRAPH.LEFT
        if style.name in ("Normal", "Body Text", "First Paragraph", "Compact"):
            style.font.size = Pt(10.5)
    _style_docx_table(book)
    book.save(path)


def _style_docx_table(book: object) -> None:
    """Rules between rows, a shaded header, room in the cells: for pandoc's "Table" style."""
    from docx.oxml import parse_xml
    from docx.oxml.ns import nsdecls, qn

    style = book.styles["Table"].element  # type: ignore[attr-defined]
    for old in [c for c in style if c.tag in (qn("w:tblPr"), qn("w:tblStylePr"))]:
        style.remove(old)
    rule = f'w:val="single" w:sz="4" w:space="0" w:color="{RULE}"'
    style.append(
        parse_xml(
            f'<w:tblPr {nsdecls("w")}><w:tblBorders><w:top {rule}/><w:bottom {rule}/><w:insideH {rule}/></w:tblBorders>'
            '<w:tblCellMar><w:top w:w="40" w:type="dxa"/><w:left w:w="90" w:type="dxa"/><w:bottom w:w="40" w:type="dxa"/><w:right w:w="90" w:type="dxa"/></w:tblCellMar></w:tblPr>'
        )
    )
    style.append(
        parse_xml(
            f'<w:tblStylePr {nsdecls("w")} w:type="firstRow"><w:rPr><w:b/><w:color w:val="FFFFFF"/></w:rPr>'
            f'<w:tcPr><w:shd w:val="clear" w:color="auto" w:fill="{HEADING}"/></w:tcPr></w:tblStylePr>'
        )
    )


def _rewrite(source: str, target: str, changes: dict[str, Callable[[str], str]]) -> None:
    """Copy a zip archive, passing the members whose names match through a function."""
    target = os.path.join("/workspace", target)
    os.makedirs(os.path.dirname(target), exist_ok=True)
    with zipfile.ZipFile(source) as old, zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as new:
        for info in old.infolist():
            data = old.read(info)
            for pattern, change in changes.items():
                if re.fullmatch(pattern, info.filename):
                    data = change(data.decode("utf-8")).encode("utf-8")
            new.writestr(info, data)


def _theme(xml: str, east: str) -> str:
    xml = re.sub(r'<a:ea typeface="[^"]*"\s*/>', f'<a:ea typeface="{east}"/>', xml)
    xml = xml.replace('<a:dk2><a:srgbClr val="1F497D"/>', f'<a:dk2><a:srgbClr val="{HEADING}"/>')
    for n, colour in enumerate(_ACCENTS, start=1):
        xml = re.sub(rf'(<a:accent{n}><a:srgbClr val=")[0-9A-F]+', rf"\g<1>{colour}", xml)
    return xml


def _master(xml: str) -> str:
    """Titles to the left, bold and dark blue; text in sizes that hold a sentence a line."""
    style = re.search(r"<p:titleStyle>.*?</p:titleStyle>", xml, re.DOTALL)
    if style:
        new = style[0].replace('algn="ctr"', 'algn="l"').replace('sz="3300"', 'sz="2400" b="1"')
        new = re.sub(r'<a:schemeClr val="tx1"\s*/>', '<a:schemeClr val="tx2"/>', new)
        xml = xml.replace(style[0], new)
    for old, small in (("2400", "1800"), ("2100", "1600"), ("1500", "1300")):
        xml = re.sub(rf'(<p:bodyStyle>.*?)sz="{old}"', rf'\g<1>sz="{small}"', xml, count=1, flags=re.DOTALL)
    return xml


def _layout(xml: str) -> str:
    """Titles, subtitles and section names to the left, in the letters they are written in."""
    return xml.replace(' cap="all"', "").replace('algn="ctr"', 'algn="l"')


def _tables_small(xml: str) -> str:
    """Table text at 12 points: pandoc leaves it at 18, and rows run off the slide."""

    def cell(found: re.Match[str]) -> str:
        text = re.sub(r"<a:rPr\s*/>", '<a:rPr sz="1200"/>', found[0])
        return re.sub(r"<a:rPr(?![^>]*\bsz=)([^>]*)>", r'<a:rPr sz="1200"\1>', text)

    return re.sub(r"<a:tbl>.*?</a:tbl>", cell, xml, flags=re.DOTALL)
