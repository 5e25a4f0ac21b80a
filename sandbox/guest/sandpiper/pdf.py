"""PDF files from Markdown, with reportlab, in the same house style.

    pdf.write(markdown, "out/report.pdf", title="Weekly report")

Pandoc reads the Markdown, so a .docx and a .pdf of the same text agree. Latin,
Cyrillic and Greek are set in Noto Sans, CJK in Noto Sans CJK (only the used
characters are embedded), emoji in Symbola.
"""

from __future__ import annotations

import functools
import io
import json
import os
import subprocess
from typing import Any
from xml.sax.saxutils import escape

from reportlab.lib import colors
from reportlab.lib.enums import TA_RIGHT
from reportlab.lib.pagesizes import A4
from reportlab.lib.styles import ParagraphStyle
from reportlab.lib.units import cm
from reportlab.lib.utils import ImageReader
from reportlab.pdfbase import pdfmetrics
from reportlab.pdfbase.ttfonts import TTFont
from reportlab.platypus import (
    HRFlowable,
    Image,
    ListFlowable,
    ListItem,
    Paragraph,
    Preformatted,
    SimpleDocTemplate,
    Spacer,
    Table,
    TableStyle,
)

from .office import BAND, FORMAT, HEADING, INK, RULE, PandocError

_FONTS = "/usr/share/fonts/truetype/noto/"
_CJK = "/usr/share/fonts/opentype/noto/NotoSansCJK-Regular.ttc"
_EMOJI = "/usr/share/fonts/truetype/ancient-scripts/Symbola_hint.ttf"
_WIDTH = A4[0] - 4.6 * cm


def write(markdown: str, path: str, *, title: str = "") -> None:
    """Write a PDF, A4 with page numbers. Pictures are paths in the workspace."""
    tree = _read(markdown)
    page = _Page(_Fonts(json.dumps(tree, ensure_ascii=False) + title))
    story = [page.text(escape(title), "title")] if title else []
    story += page.blocks(tree["blocks"])
    os.makedirs(os.path.dirname(path) or ".", exist_ok=True)
    made = SimpleDocTemplate(
        path,
        pagesize=A4,
        leftMargin=2.3 * cm,
        rightMargin=2.3 * cm,
        topMargin=2.2 * cm,
        bottomMargin=2.2 * cm,
        title=title,
        author="Sandpiper",
        invariant=1,
    )
    made.build(story or [Spacer(1, 1)], onFirstPage=_footer, onLaterPages=_footer)


def _read(markdown: str) -> dict[str, Any]:
    run = subprocess.run(["pandoc", "--from", FORMAT, "--to", "json"], input=markdown, capture_output=True, text=True)
    if run.returncode:
        raise PandocError((run.stderr.strip().splitlines() or ["pandoc failed"])[-1])
    return json.loads(run.stdout)


def _footer(canvas: Any, document: Any) -> None:
    canvas.saveState()
    canvas.setFont("Body", 9)
    canvas.setFillColor(colors.HexColor("#595959"))
    canvas.drawRightString(A4[0] - 2.3 * cm, 1.2 * cm, str(document.page))
    canvas.restoreState()


class _Fonts:
    """Registers what a text needs, and marks up characters that the body font lacks."""

    def __init__(self, text: str) -> None:
        for name, file in (
            ("Body", "NotoSans-Regular.ttf"),
            ("Body-Bold", "NotoSans-Bold.ttf"),
            ("Body-Italic", "NotoSans-Italic.ttf"),
            ("Body-BoldItalic", "NotoSans-BoldItalic.ttf"),
            ("Mono", "NotoSansMono-Regular.ttf"),
        ):
            pdfmetrics.registerFont(TTFont(name, _FONTS + file))
        pdfmetrics.registerFontFamily(
            "Body", normal="Body", bold="Body-Bold", italic="Body-Italic", boldItalic="Body-BoldItalic"
        )
        self._body = pdfmetrics.getFont("Body").face.charToGlyph
        missing = {c for c in text if ord(c) not in self._body and ord(c) > 0x7F}
        self._other: dict[str, set[int]] = {}
        if missing and os.path.exists(_EMOJI):
            pdfmetrics.registerFont(TTFont("Emoji", _EMOJI))
            self._other["Emoji"] = set(pdfmetrics.getFont("Emoji").face.charToGlyph)
        if any(0x2E80 <= ord(c) <= 0xFFEF or ord(c) >= 0x20000 for c in missing) and os.path.exists(_CJK):
            pdfmetrics.registerFont(TTFont("CJK", _truetype_subset("".join(sorted(missing)))))
            self._other = {"CJK": set(pdfmetrics.getFont("CJK").face.charToGlyph)} | self._other

    def markup(self, text: str) -> str:
        """Escaped text, with other fonts' characters in <font> runs."""
        out, run, current = [], [], ""
        for c in text:
            code = ord(c)
            font = (
                ""
                if code < 0x80 or code in self._body
                else next((n for n, known in self._other.items() if code in known), "")
            )
            if font != current:
                out.append(self._run(run, current))
                run, current = [], font
            if code not in (0xFE0E, 0xFE0F, 0x200D):
                run.append(c)
        return "".join(out) + self._run(run, current)

    @staticmethod
    def _run(run: list[str], font: str) -> str:
        text = escape("".join(run))
        return f'<font name="{font}">{text}</font>' if font and text else text


def _truetype_subset(text: str) -> io.BytesIO:
    """The CJK font's used characters as a TrueType font: reportlab reads no CFF outlines."""
    from fontTools import subset
    from fontTools.pens.cu2quPen import Cu2QuPen
    from fontTools.pens.ttGlyphPen import TTGlyphPen
    from fontTools.ttLib import TTFont as Font
    from fontTools.ttLib import newTable

    font = Font(_CJK, fontNumber=0, lazy=True)
    cutter = subset.Subsetter(
        subset.Options(
            layout_features=[],
            hinting=False,
            notdef_outline=True,
            drop_tables=["GSUB", "GPOS", "GDEF", "BASE", "VORG", "vhea", "vmtx", "STAT"],
        )
    )
    cutter.populate(text=text)
    cutter.subset(font)
    glyphs = font.getGlyphSet()
    drawn = {}
    for name in font.getGlyphOrder():
        pen = TTGlyphPen(glyphs)
        glyphs[name].draw(Cu2QuPen(pen, max_err=1.0, reverse_direction=True))
        drawn[name] = pen.glyph()
    font["loca"], font["glyf"] = newTable("loca"), newTable("glyf")
    font["glyf"].glyphOrder, font["glyf"].glyphs = font.getGlyphOrder(), drawn
    del font["CFF "]
    limits = font["maxp"]
    limits.tableVersion = 0x00010000
    for key in (
        "maxZones",
        "maxTwilightPoints",
        "maxStorage",
        "maxFunctionDefs",
        "maxInstructionDefs",
        "maxStackElements",
        "maxSizeOfInstructions",
        "maxComponentElements",
    ):
        setattr(limits, key, 1 if key == "maxZones" else 0)
    font["post"].formatType = 3.0
    font.sfntVersion = "\x00\x01\x00\x00"
    out = io.BytesIO()
    font.save(out)
    out.seek(0)
    return out


class _Page:
    """Turns pandoc's blocks and inlines into reportlab's flowables."""

    def __init__(self, fonts: _Fonts) -> None:
        self.fonts = fonts
        body = ParagraphStyle(
            "body",
            fontName="Body",
            fontSize=10,
            leading=14,
            spaceAfter=6,
            textColor=colors.HexColor(f"#{INK}"),
            splitLongWords=1,
        )
        heading = functools.partial(
            ParagraphStyle, parent=body, fontName="Body-Bold", textColor=colors.HexColor(f"#{HEADING}"), keepWithNext=1
        )
        self.styles = {
            "body": body,
            "title": heading("title", fontSize=22, leading=27, spaceAfter=10),
            "1": heading("1", fontSize=17, leading=22, spaceBefore=10, spaceAfter=6),
            "2": heading("2", fontSize=13, leading=17, spaceBefore=9, spaceAfter=5),
            "3": heading("3", fontSize=11, leading=15, spaceBefore=7, spaceAfter=4),
            "cell": ParagraphStyle("cell", parent=body, fontSize=8.5, leading=11, spaceAfter=0),
            "head": ParagraphStyle(
                "head",
                parent=body,
                fontName="Body-Bold",
                fontSize=8.5,
                leading=11,
                spaceAfter=0,
                textColor=colors.white,
            ),
            "quote": ParagraphStyle("quote", parent=body, leftIndent=14, textColor=colors.HexColor("#595959")),
            "code": ParagraphStyle(
                "code",
                parent=body,
                fontName="Mono",
                fontSize=8,
                leading=10.5,
                backColor=colors.HexColor(f"#{BAND}"),
                borderPadding=4,
            ),
            "caption": ParagraphStyle(
                "caption", parent=body, fontSize=8.5, leading=11, textColor=colors.HexColor("#595959")
            ),
        }

    def text(self, markup: str, style: str) -> Paragraph:
        return Paragraph(markup, self.styles[style])

    def blocks(self, blocks: list[dict[str, Any]], style: str = "body") -> list[Any]:
        out: list[Any] = []
        for block in blocks:
            out += self.block(block["t"], block.get("c"), style)
        return out

    def block(self, kind: str, c: Any, style: str) -> list[Any]:
        if kind in ("Para", "Plain"):
            return self.paragraph(c, style)
        if kind == "Header":
            return [self.text(self.inlines(c[2]), str(min(c[0], 3)))]
        if kind in ("BulletList", "OrderedList"):
            items = c if kind == "BulletList" else c[1]
            listed = [ListItem(self.blocks(item, style) or [Spacer(1, 1)], leftIndent=16) for item in items]
            return [
                ListFlowable(
                    listed,
                    bulletType="bullet" if kind == "BulletList" else "1",
                    bulletFontName="Body",
                    bulletFontSize=9,
                    leftIndent=16,
                    start=None if kind == "BulletList" else c[0][0],
                )
            ]
        if kind == "Table":
            return [self.table(c), Spacer(1, 8)]
        if kind == "BlockQuote":
            return self.blocks(c, "quote")
        if kind == "CodeBlock":
            return [Preformatted(c[1], self.styles["code"], maxLineLength=95), Spacer(1, 6)]
        if kind == "HorizontalRule":
            return [HRFlowable(width="100%", color=colors.HexColor(f"#{RULE}")), Spacer(1, 6)]
        if kind in ("Div", "Figure"):
            return self.blocks(c[-1], style)
        if kind == "LineBlock":
            return [self.text("<br/>".join(self.inlines(line) for line in c), style)]
        if kind == "DefinitionList":
            return [
                f
                for term, meanings in c
                for f in [
                    self.text(f"<b>{self.inlines(term)}</b>", style),
                    *(x for m in meanings for x in self.blocks(m, "quote")),
                ]
            ]
        return []

    def paragraph(self, inlines: list[dict[str, Any]], style: str) -> list[Any]:
        """A paragraph; one that is only a picture becomes the picture with its caption."""
        shown = [i for i in inlines if i["t"] not in ("Space", "SoftBreak")]
        if len(shown) == 1 and shown[0]["t"] == "Image":
            if (image := self.image(shown[0]["c"][2][0])) is not None:
                caption = self.inlines(shown[0]["c"][1])
                return [image, *([self.text(caption, "caption")] if caption else [])]
        markup = self.inlines(inlines)
        return [self.text(markup, style)] if markup.strip() else []

    def image(self, target: str) -> Image | None:
        """A picture of the workspace at the text's width or its own, or None."""
        for folder in ("/workspace", "/workspace/out", "/workspace/in"):
            path = os.path.normpath(os.path.join(folder, target))
            if path.startswith("/workspace/") and os.path.isfile(path):
                try:
                    width, height = ImageReader(path).getSize()
                except OSError:
                    return None
                scale = min(_WIDTH / width, 11 * cm / height, 0.6)
                return Image(path, width * scale, height * scale, hAlign="LEFT")
        return None

    def inlines(self, inlines: list[dict[str, Any]]) -> str:
        return "".join(self.inline(i["t"], i.get("c")) for i in inlines)

    def inline(self, kind: str, c: Any) -> str:
        if kind == "Str":
            return self.fonts.markup(c)
        if kind in ("Space", "SoftBreak"):
            return " "
        if kind == "LineBreak":
            return "<br/>"
        if kind in ("Strong", "Emph", "Strikeout", "Superscript", "Subscript"):
            tag = {"Strong": "b", "Emph": "i", "Strikeout": "strike", "Superscript": "super", "Subscript": "sub"}[kind]
            return f"<{tag}>{self.inlines(c)}</{tag}>"
        if kind == "Code":
            return f'<font name="Mono" size="8.5">{self.fonts.markup(c[1])}</font>'
        if kind == "Quoted":
            left, right = ("“", "”") if c[0]["t"] == "DoubleQuote" else ("‘", "’")
            return left + self.inlines(c[1]) + right
        if kind in ("Link", "Image", "Span"):
            return self.inlines(c[1])
        if kind == "Math":
            return self.fonts.markup(c[1])
        return self.inlines(c) if isinstance(c, list) and c and isinstance(c[0], dict) else ""

    def table(self, c: list[Any]) -> Table:
        _, _, columns, head, bodies, _ = c
        rows = [(row, True) for row in head[1]] + [(row, False) for body in bodies for row in [*body[2], *body[3]]]
        aligned = [spec[0]["t"] == "AlignRight" for spec in columns]
        cells, lengths = [], [1.0] * len(columns)
        for row, top in rows:
            line = []
            for n, cell in enumerate(row[1][: len(columns)]):
                markup = " ".join(self.inlines(b["c"]) for b in cell[4] if b["t"] in ("Plain", "Para"))
                style = self.styles["head" if top else "cell"]
                line.append(
                    Paragraph(
                        markup, ParagraphStyle("right", parent=style, alignment=TA_RIGHT) if aligned[n] else style
                    )
                )
                lengths[n] = max(lengths[n], min(len(_plain(cell[4])), 40))
            cells.append(line + [""] * (len(columns) - len(line)))
        wide = [max(n, 4) * 5.2 + 12 for n in lengths]
        scale = min(_WIDTH / sum(wide), 1.35)
        made = Table(cells, colWidths=[w * scale for w in wide], repeatRows=len(head[1]), hAlign="LEFT")
        rule = colors.HexColor(f"#{RULE}")
        look = [
            ("LINEBELOW", (0, 0), (-1, -1), 0.4, rule),
            ("VALIGN", (0, 0), (-1, -1), "TOP"),
            ("TOPPADDING", (0, 0), (-1, -1), 2.5),
            ("BOTTOMPADDING", (0, 0), (-1, -1), 3.5),
        ]
        if head[1]:
            look.append(("BACKGROUND", (0, 0), (-1, len(head[1]) - 1), colors.HexColor(f"#{HEADING}")))
        made.setStyle(TableStyle(look))
        return made


def _plain(value: Any) -> str:
    """The text in a piece of pandoc's tree, for measuring."""
    if isinstance(value, dict):
        if value.get("t") == "Str":
            return value["c"]
        return " " if value.get("t") == "Space" else _plain(value.get("c"))
    return "".join(_plain(v) for v in value) if isinstance(value, list) else ""
