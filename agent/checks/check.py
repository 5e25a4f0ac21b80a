"""Look for what calls home or runs in files before they are handed out.

Runs in a fresh session: /workspace/in holds the files under the names 0, 1, …,
/workspace/in/names.json their real names. Each file is passed, defused (a
mended copy lies in /workspace/out under the same number) or withheld. The
verdicts are written to /workspace/.sandpiper/check.json as
[{"index": 0, "action": "pass|defuse|withhold", "found": ["…"]}, …].
Only the standard library is used, and archives are read within bounds.
"""

import html.parser
import io
import json
import os
import re
import zipfile

IN, OUT, REPORT = "/workspace/in", "/workspace/out", "/workspace/.sandpiper/check.json"
MOST = 300 << 20  # bytes that an archive may unfold to
MEMBERS = 10_000
LONGEST = 60 << 20  # bytes of one part that is looked into

# Functions that reach out of the workbook when it is opened or recalculated.
CALLING = re.compile(
    r"\b(WEBSERVICE|FILTERXML|RTD|CALL|REGISTER(?:\.ID)?|EXEC|FOPEN|IMPORTDATA|IMPORTXML|IMPORTHTML|IMPORTFEED|IMPORTRANGE|IMAGE|DDE|SQL\.REQUEST)\s*\(",
    re.I,
)
# 'program'|'topic'!item is a DDE link; [1]Sheet!A1 and [http…] are other workbooks.
DDE = re.compile(r"(?:^|[=+\-@(,])\s*'?[A-Za-z][\w.]*'?\s*\|")
OTHER_BOOK = re.compile(r"\[(?:\d+|[^\]\[]*[/\\:.][^\]\[]*)\][^\s!]*!|'(?:https?|ftp|file):", re.I)
REMOTE = re.compile(r"^\s*(?:[a-z][a-z0-9+.-]*:)?//|^\s*(?:https?|ftp|file|smb|javascript|vbscript):|^\\\\", re.I)
CSS_REMOTE = re.compile(
    r"@import\b[^;]*;?|url\(\s*+['\"]?+\s*+(?!data:image/(?!svg)|#)[^)]*\)|(?:-webkit-)?image-set\s*\([^)]*\)"
    r"|expression\s*\(|-moz-binding[^;]*|behavior\s*:[^;]*|(?:https?:)?//[^\s'\")]+",
    re.I,
)


class Withheld(Exception):
    """A file that cannot be made harmless."""


def xml_text(raw):
    for bom, encoding in ((b"\xef\xbb\xbf", "utf-8-sig"), (b"\xff\xfe", "utf-16"), (b"\xfe\xff", "utf-16")):
        if raw.startswith(bom):
            return raw.decode(encoding, "replace")
    return raw.decode("utf-8", "replace")


def unescape(text):
    import html

    return html.unescape(text)


def read_members(raw):
    archive = zipfile.ZipFile(io.BytesIO(raw))
    infos = archive.infolist()
    if len(infos) > MEMBERS or sum(i.file_size for i in infos) > MOST:
        raise Withheld("an archive that unfolds too far")
    members = {}
    for info in infos:
        if info.flag_bits & 1:
            raise Withheld("an encrypted archive, which cannot be looked into")
        if info.file_size > LONGEST:
            raise Withheld("an archive member too large to look into")
        with archive.open(info) as member:
            data = member.read(LONGEST + 1)
        if len(data) > LONGEST:
            raise Withheld("an archive member too large to look into")
        if info.filename in members:
            raise Withheld("an archive with two members of one name")
        members[info.filename] = data
    return members


def write_members(members):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in members.items():
            archive.writestr(zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0)), data, zipfile.ZIP_DEFLATED)
    return out.getvalue()


# ---- Office Open XML --------------------------------------------------------

FORMULA = re.compile(r"<((?:\w+:)?f)\b([^>]*?)(?:/>|>(.*?)</\1>)", re.S)
RELATION = re.compile(r"<(?:\w+:)?Relationship\b[^>]*?/?>", re.S)


def attribute(tag, name):
    found = re.search(rf"\b{name}\s*=\s*(\"[^\"]*\"|'[^']*')", tag)
    return unescape(found.group(1)[1:-1]) if found else ""


def bad_formula(text):
    text = unescape(text)
    called = CALLING.search(text)
    if called:
        return called.group(1).upper()
    if DDE.search(text):
        return "DDE"
    if OTHER_BOOK.search(text):
        return "another workbook"
    return ""


def check_ooxml(members, found):
    """Mend the parts in place; what cannot be mended raises Withheld."""
    for name, data in list(members.items()):
        low = name.lower()
        if re.search(r"/embeddings/[^/]+\.xlsx$", low):  # the numbers behind a chart
            if check(low, data, 1)[1]:
                raise Withheld("an embedded workbook that calls home")
            continue
        if "vbaproject" in low or low.endswith((".bin", ".vbs", ".js", ".exe", ".dll")) and "printersettings" not in low:
            raise Withheld("a macro or an embedded program")
        if re.search(r"(^|/)(activex|embeddings|macrosheets|dialogsheets|ctrlprops)/", low):
            raise Withheld("an embedded object or macro sheet")
        if "/externallinks/" in low and low.endswith(".xml"):
            raise Withheld("a link to another workbook or to DDE")
        if low.endswith("connections.xml") or "/querytables/" in low or "/webextensions/" in low or "customui" in low:
            raise Withheld("a data connection or an add-in")
    types = xml_text(members.get("[Content_Types].xml", b""))
    if "macroEnabled" in types:
        raise Withheld("a type with macros")
    for name, data in list(members.items()):
        if name.endswith(".rels"):
            members[name] = check_relations(members, name, xml_text(data), found)
        elif re.search(r"(?i)(worksheets|chartsheets|tables)/[^/]*\.xml$|workbook\.xml$|charts/[^/]*\.xml$", name):
            members[name] = check_formulas(xml_text(data), found)
        elif re.search(r"(?i)^word/.*\.xml$", name):
            text = xml_text(data)
            instructions = "".join(re.findall(r"<w:instrText\b[^>]*>(.*?)</w:instrText>", text, re.S)) + " ".join(
                re.findall(r"w:instr\s*=\s*\"([^\"]*)\"", text))
            if re.search(r"(?i)\b(DDE|DDEAUTO|INCLUDETEXT|INCLUDEPICTURE|IMPORT|LINK|AUTOTEXT)\b", unescape(instructions)):
                raise Withheld("a field that loads from elsewhere")
            if "<w:altChunk" in text:
                raise Withheld("embedded foreign content")


def check_formulas(text, found):
    def mend(match):
        bad = bad_formula(match.group(3) or "")
        if not bad:
            return match.group(0)
        found.append(f"a formula with {bad}")
        return ""  # the value that was calculated before stays

    text = FORMULA.sub(mend, text)

    def mend_name(match):
        bad = bad_formula(match.group(2))
        if not bad:
            return match.group(0)
        found.append(f"a defined name with {bad}")
        return ""

    text = re.sub(r"<((?:\w+:)?definedName)\b[^>]*>(.*?)</\1>", mend_name, text, flags=re.S)
    if re.search(r"(?i)<(?:\w+:)?formula[12]?\b[^>]*>[^<]*(WEBSERVICE|RTD)\s*\(", text):
        raise Withheld("a rule that calls home")
    if re.search(r"<(?:\w+:)?(oleLink|ddeLink)\b", text):
        raise Withheld("a DDE or OLE link")
    return text


def check_relations(members, name, text, found):
    def mend(match):
        tag = match.group(0)
        kind = attribute(tag, "Type").rsplit("/", 1)[-1]
        target = attribute(tag, "Target")
        external = attribute(tag, "TargetMode") == "External"
        if not external and not REMOTE.search(target):
            return tag
        if kind == "hyperlink":
            if re.match(r"\s*(https?|mailto):", target, re.I) or target.startswith("#"):
                return tag  # nothing is fetched until a person clicks
            raise Withheld("a hyperlink that runs or opens files")
        if kind == "attachedTemplate":
            found.append("a remote template")
            part = name.replace("/_rels/", "/").removesuffix(".rels")
            if part in members:
                members[part] = re.sub(r"<w:attachedTemplate\b[^>]*/>", "", xml_text(members[part])).encode()
            return ""
        raise Withheld(f"a remote {kind or 'part'}")

    return RELATION.sub(mend, text)


def check_odf(members):
    for name, data in members.items():
        low = name.lower()
        if low.startswith(("basic/", "scripts/", "object ")) or low.endswith((".js", ".py", ".bsh")):
            raise Withheld("a macro or an embedded object")
        if low.endswith(".xml"):
            text = xml_text(data)
            if re.search(r"<script:event-listener|<office:script[ >]|<table:cell-range-source|<office:dde-source|<table:dde-link", text):
                raise Withheld("a script, a link or DDE")
            for formula in re.findall(r"table:formula\s*=\s*\"([^\"]*)\"", text):
                if bad_formula(formula) or re.search(r"(?i)'(file|https?):", unescape(formula)):
                    raise Withheld("a formula that reaches out")
            for tag in re.findall(r"<(?!text:a\b|draw:a\b)[\w:-]+\b[^>]*xlink:href\s*=\s*\"[^\"]*\"[^>]*>", text):
                if REMOTE.search(attribute(tag, "xlink:href")):
                    raise Withheld("a remote reference")


# ---- SVG and HTML -----------------------------------------------------------

def css_plain(text):
    """The style as a browser reads it: without escapes and comments."""
    text = re.sub(r"\\([0-9A-Fa-f]{1,6})\s?", lambda m: chr(min(int(m.group(1), 16), 0x10FFFF)), text)
    return re.sub(r"/\*.*?\*/|\\", "", text, flags=re.S)


def clean_css(text):
    """Return the style without what is fetched; where escapes hide such a thing, nothing."""
    clean = CSS_REMOTE.sub("", text)
    return "" if CSS_REMOTE.search(css_plain(clean)) else clean


DROPPED = {"script", "include", "iframe", "frame", "frameset", "object", "embed", "applet", "base", "portal", "foreignobject",
           "handler", "listener", "set", "animate", "animatetransform", "animatemotion"}
VOID = {"area", "base", "br", "col", "embed", "frame", "hr", "img", "input", "link", "meta", "source", "track", "wbr"}
LOADS = {"src", "href", "xlink:href", "data", "poster", "background", "action", "formaction", "srcset", "manifest",
         "codebase", "ping", "longdesc", "cite", "classid", "archive", "profile", "usemap", "imagesrcset", "dynsrc", "lowsrc"}


class Cleaner(html.parser.HTMLParser):
    """Writes markup again without what runs or is fetched."""

    CDATA_CONTENT_ELEMENTS = ("script", "style")

    def __init__(self, xml):
        super().__init__(convert_charrefs=False)
        self.xml, self.out, self.found, self.skip, self.raw_style = xml, [], [], [], False
        self.written = ""  # the end tag's name as it was written

    def handle_starttag(self, tag, attrs, closed=False):
        source = self.get_starttag_text() or ""
        name = re.match(r"<\s*([^\s/>]+)", source)
        shown = name.group(1) if name else tag
        low = shown.lower().split(":")[-1]
        if self.skip:
            if not closed and low not in VOID:
                self.skip.append(low)
            return
        if low in DROPPED:
            self.found.append(f"<{low}>")
            if not closed and low not in VOID:
                self.skip.append(low)
            return
        values = dict((k.lower(), v or "") for k, v in attrs)
        if low == "meta" and values.get("http-equiv", "").lower() in ("refresh", "set-cookie", "content-security-policy"):
            self.found.append("<meta http-equiv>")
            return
        if low == "link" and not values.get("href", "").startswith(("#", "data:image/")):
            self.found.append("<link>")
            return
        kept = []
        for key, value in attrs:
            if self.keeps(low, key.lower(), value or ""):
                if key.lower() == "style" and clean_css(unescape(value or "")) != unescape(value or ""):
                    self.found.append("a remote style")
                    value = clean_css(unescape(value))
                kept.append(key if value is None else f'{self.case(source, key)}="{escape(value)}"')
        body = " ".join([shown, *kept])
        self.out.append(f"<{body}{'/' if closed else ''}>")
        self.raw_style = low == "style" and not closed

    def case(self, source, key):
        found = re.search(rf"[\s\"']({re.escape(key)})\s*=", source, re.I)
        return found.group(1) if found else key

    def keeps(self, tag, key, value):
        if key.startswith("on") or key in ("srcdoc", "ping", "autofocus"):
            self.found.append(f"an {key} handler" if key.startswith("on") else key)
            return False
        plain = re.sub(r"[\x00-\x20]+", "", value)
        if re.match(r"(?i)(javascript|vbscript|data:text|data:application|data:image/svg)", plain):
            self.found.append("a link that runs")
            return False
        if key not in LOADS or plain.startswith("#") or re.match(r"(?i)data:image/", plain):
            return True
        if tag == "a" and key in ("href", "xlink:href") or key == "cite":
            return not re.match(r"(?i)(file|smb):|\\\\", plain)
        if key == "srcset" and not re.search(r"//|:", plain) or not REMOTE.search(plain) and not plain.startswith("\\\\"):
            return True
        self.found.append("a remote reference")
        return False

    def handle_startendtag(self, tag, attrs):
        self.handle_starttag(tag, attrs, closed=True)

    def handle_endtag(self, tag):
        low = tag.lower().split(":")[-1]
        if self.skip:
            if low in self.skip:
                while self.skip and self.skip.pop() != low:
                    pass
            return
        self.raw_style = False
        if low in VOID or low in DROPPED:
            return
        self.out.append(f"</{self.written if self.written.lower() == tag else tag}>")

    def parse_endtag(self, i):
        # The parser lowers names; XML needs them as they were written.
        found = re.compile(r"</\s*([^\s>/]+)").match(self.rawdata, i)
        self.written = found.group(1) if found else ""
        return super().parse_endtag(i)

    def handle_data(self, data):
        if self.skip:
            return
        if self.raw_style and clean_css(data) != data:
            self.found.append("a remote style")
            data = clean_css(data)
        self.out.append(data)

    def handle_entityref(self, name):
        if not self.skip:
            self.out.append(f"&{name};")

    def handle_charref(self, name):
        if not self.skip:
            self.out.append(f"&#{name};")

    def handle_comment(self, data):
        if "[if" in data.lower() and not self.skip:
            self.found.append("a conditional comment")

    def handle_decl(self, decl):
        if "[" in decl or re.search(r"(?i)\bENTITY\b", decl):
            self.found.append("an entity declaration")
            return
        self.out.append(f"<!{decl}>")

    def handle_pi(self, data):
        if "stylesheet" in data.lower():
            self.found.append("a remote stylesheet")
            return
        self.out.append(f"<?{data}>")

    def unknown_decl(self, data):
        if data.upper().startswith("CDATA[") and not self.skip:
            self.handle_data(escape(data[6:], quotes=False) if self.xml and not self.raw_style else data[6:])


def escape(text, quotes=True):
    text = re.sub(r"&(?!#?\w+;)", "&amp;", text).replace("<", "&lt;").replace(">", "&gt;")
    return text.replace('"', "&quot;") if quotes else text


def check_markup(raw, xml):
    text = xml_text(raw)
    cleaner = Cleaner(xml)
    cleaner.feed(text)
    cleaner.close()
    if not cleaner.found:
        return raw, []
    cleaned = "".join(cleaner.out)
    again = Cleaner(xml)
    again.feed(cleaned)
    again.close()
    if again.found:
        raise Withheld("markup that cannot be made harmless")
    return cleaned.encode(), cleaner.found


# ---- the rest ---------------------------------------------------------------


def check_markdown(raw):
    found = []
    text = xml_text(raw)

    def image(match):
        found.append("a remote picture")
        return match.group(0)[1:]  # a link instead

    def tag(match):
        found.append(f"<{match.group(1).lower()}>")
        return "&lt;" + match.group(0)[1:]

    text = re.sub(r"!\[[^\]]*\]\(\s*<?(?:https?:|ftp:)?//[^)]*\)", image, text, flags=re.I)
    text = re.sub(r"!\[[^\]]*\]\[[^\]]*\]", image, text)
    text = re.sub(r"<(script|iframe|object|embed|img|link|meta|base|form|svg|video|audio|style|source)\b[^>]*>?", tag, text, flags=re.I)
    return (text.encode(), found) if found else (raw, [])


def check_pdf(raw):
    text = raw[: LONGEST]
    unhexed = re.sub(rb"#([0-9A-Fa-f]{2})", lambda m: bytes([int(m.group(1), 16)]), text)
    if re.search(rb"/(JavaScript|JS|Launch|SubmitForm|ImportData|EmbeddedFile|RichMedia|GoToR)\b", unhexed):
        raise Withheld("a script or a program in a PDF")


def check_ole(raw):
    wide = lambda s: s.encode("utf-16-le")
    for mark in ("VBA", "_VBA_PROJECT", "Macros", "EncryptedPackage", "ObjectPool"):
        if wide(mark) in raw:
            raise Withheld("a macro, an embedded object or encryption in an old Office file")
    low = raw.lower()
    for mark in (b"webservice", b"cmd|", b"msexcel|", b"excel|", b"ddeauto"):
        if mark in low or wide(mark.decode()) in low:
            raise Withheld("a formula or field that calls home")


def check_zip(raw, depth):
    members = read_members(raw)
    for name, data in members.items():
        if name.endswith("/"):
            continue
        _, found = check(name, data, depth + 1)
        if found:
            raise Withheld(f"{os.path.basename(name)} in it holds {found[0]}")


RUNS = (".exe", ".dll", ".com", ".scr", ".msi", ".bat", ".cmd", ".ps1", ".vbs", ".vbe", ".jse", ".wsf", ".hta", ".lnk",
        ".url", ".iqy", ".slk", ".chm", ".jar", ".app", ".desktop", ".reg", ".xlam", ".xll", ".dotm", ".docm", ".xlsm",
        ".pptm", ".potm", ".ppam", ".xla", ".scf", ".library-ms", ".settingcontent-ms", ".rtf")


def check(name, raw, depth=0):
    """Return (bytes, what was taken out); raise Withheld."""
    ext = os.path.splitext(name.lower())[1]
    head = raw[:2048].lstrip(b"\xef\xbb\xbf \t\r\n").lower()
    if depth > 2:
        raise Withheld("archives within archives")
    if raw.startswith(b"MZ") or raw.startswith(b"\x7fELF"):
        raise Withheld("a program")
    if ext == ".rtf" and not re.search(rb"\\object|\\field|\\\*\\template|ddeauto", raw, re.I):
        return raw, []
    if ext in RUNS:
        raise Withheld("a file type that runs or loads other things when opened")
    if raw.startswith(b"PK\x03\x04"):
        members = read_members(raw)
        found = []
        if "[Content_Types].xml" in members:
            check_ooxml(members, found)
            return (write_members(encoded(members)), found) if found else (raw, [])
        if "mimetype" in members and members["mimetype"].startswith(b"application/vnd.oasis"):
            check_odf(members)
            return raw, []
        check_zip(raw, depth)
        return raw, []
    if raw.startswith(b"%PDF") or ext == ".pdf":
        check_pdf(raw)
    elif raw.startswith(b"\xd0\xcf\x11\xe0"):
        check_ole(raw)
    elif ext in (".md", ".markdown"):
        return check_markdown(raw)
    elif ext in (".svg",) or b"<svg" in head and not b"<html" in head:
        return check_markup(raw, xml=True)
    elif ext in (".html", ".htm", ".xhtml", ".mht", ".mhtml", ".xml") or head.startswith((b"<!doctype html", b"<html")):
        if ext in (".mht", ".mhtml"):
            raise Withheld("a web archive, which cannot be made harmless")
        return check_markup(raw, xml=ext in (".xml", ".xhtml"))
    return raw, []


def encoded(members):
    return {name: data if isinstance(data, bytes) else data.encode() for name, data in members.items()}


def main():
    with open(os.path.join(IN, "names.json"), encoding="utf-8") as f:
        names = json.load(f)
    os.makedirs(OUT, exist_ok=True)
    verdicts = []
    for index, name in enumerate(names):
        with open(os.path.join(IN, str(index)), "rb") as f:
            raw = f.read()
        try:
            kept, found = check(name, raw)
        except Withheld as why:
            verdicts.append({"index": index, "action": "withhold", "found": [str(why)]})
            continue
        except (zipfile.BadZipFile, zipfile.LargeZipFile, NotImplementedError, RuntimeError, OSError, AssertionError, RecursionError, ValueError) as e:
            verdicts.append({"index": index, "action": "withhold", "found": [f"contents that cannot be looked into ({type(e).__name__})"]})
            continue
        if found:
            with open(os.path.join(OUT, str(index)), "wb") as f:
                f.write(kept)
        verdicts.append({"index": index, "action": "defuse" if found else "pass", "found": sorted(set(found))})
    os.makedirs(os.path.dirname(REPORT), exist_ok=True)
    with open(REPORT, "w", encoding="utf-8") as f:
        json.dump(verdicts, f)


main()
