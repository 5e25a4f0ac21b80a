"""What a file is, by its first bytes and, for containers, by what is in them."""

from __future__ import annotations

import io
import zipfile
from typing import BinaryIO

from . import charsets
from .refusal import Refusal
from .source import Source

XLSX, XLSM, XLS, ODS = "xlsx", "xlsm", "xls", "ods"
ZIP, GZIP, BZIP2, XZ, PARQUET, PDF, DOCX, TEXT = "zip", "gzip", "bzip2", "xz", "parquet", "pdf", "docx", "text"

_SIGNATURES: tuple[tuple[bytes, str], ...] = (
    (b"\x1f\x8b", GZIP),
    (b"BZh", BZIP2),
    (b"\xfd7zXZ\x00", XZ),
    (b"PAR1", PARQUET),
    (b"%PDF-", PDF),
    (b"\x09\x00\x04\x00", XLS),  # Excel 2 to 4, without a container
    (b"\x09\x02\x06\x00", XLS),
    (b"\x09\x04\x06\x00", XLS),
)
_PICTURES = (
    (b"\x89PNG\r\n\x1a\n", "PNG"),
    (b"\xff\xd8\xff", "JPEG"),
    (b"GIF87a", "GIF"),
    (b"GIF89a", "GIF"),
    (b"II*\x00", "TIFF"),
    (b"MM\x00*", "TIFF"),
    (b"8BPS", "Photoshop"),
    (b"\x00\x00\x01\x00", "icon"),
)
_PROGRAMS = ((b"\x7fELF", "Linux"), (b"MZ", "Windows"), (b"\xcf\xfa\xed\xfe", "macOS"), (b"\xca\xfe\xba\xbe", "Java or macOS"), (b"dex\n", "Android"), (b"\x00asm", "WebAssembly"))
_OTHERS = (
    (b"SQLite format 3\x00", "SQLite", "CSV, one file a table"),
    (b"7z\xbc\xaf\x27\x1c", "7z", "zip or gz"),
    (b"Rar!", "RAR", "zip or gz"),
    (b"\x28\xb5\x2f\xfd", "Zstandard", "gz"),
    (b"{\\rtf", "RTF", "DOCX or plain text"),
    (b"Obj\x01", "Avro", "CSV or JSON Lines"),
    (b"ORC", "ORC", "CSV"),
    (b"\x89HDF\r\n\x1a\n", "HDF5", "CSV"),
    (b"ARROW1", "Arrow", "CSV"),
    (b"MATLAB 5.0 MAT-file", "MATLAB", "CSV (writetable)"),
    (b"$FL2", "SPSS", "CSV"),
    (b"$FL3", "SPSS", "CSV"),
    (b"<stata_dta>", "Stata", "CSV (export delimited)"),
    (b"RDX2\n", "R data", "CSV (write.csv)"),
    (b"RDX3\n", "R data", "CSV (write.csv)"),
    (b"X\n\x00\x00\x00", "R data", "CSV (write.csv)"),
    (b"\x00" * 12 + b"\xc2\xea\x81\x60", "SAS", "CSV (PROC EXPORT)"),
    (b"\x93NUMPY", "NumPy", "CSV (numpy.savetxt)"),
    (b"FEA1", "Feather", "CSV"),
    (b"\x00\x01\x00\x00Standard Jet DB", "Access", "CSV, one file a table"),
    (b"\x00\x01\x00\x00Standard ACE DB", "Access", "CSV, one file a table"),
)
_MEDIA = ((b"ID3", "an audio file"), (b"OggS", "an audio file"), (b"fLaC", "an audio file"), (b"\x1aE\xdf\xa3", "a video file"))


def sniff(source: Source) -> str:
    """The kind by content; ``Refusal`` for what is known and cannot be a table.

    TEXT stands for everything that is text: telling CSV from JSON from a log is
    the text readers' work.
    """
    head = source.head(4096)
    if not head:
        raise Refusal("empty")
    for signature, kind in _SIGNATURES:
        if head.startswith(signature):
            return kind
    if head.startswith((b"PK\x03\x04", b"PK\x05\x06")):
        return _in_zip(io.BytesIO(source.data())) if source.size < 0 or not _seekable(source) else _in_zip(source.open())
    if head.startswith(b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"):
        return _in_ole(source)
    _refuse_known(head)
    if _is_binary(head):
        raise Refusal("binary")
    return TEXT


def _refuse_known(head: bytes) -> None:
    for signature, name in _PICTURES:
        if head.startswith(signature):
            raise Refusal("picture", kind=name)
    if head.startswith(b"BM") and len(head) > 26 and head[6:10] == b"\x00\x00\x00\x00":
        raise Refusal("picture", kind="BMP")
    if head.startswith(b"RIFF") and head[8:12] in (b"WEBP", b"WAVE", b"AVI "):
        if head[8:12] == b"WEBP":
            raise Refusal("picture", kind="WebP")
        raise Refusal("media", kind="an audio or video file")
    if head[4:8] == b"ftyp":
        if head[8:12] in (b"heic", b"heix", b"mif1", b"avif"):
            raise Refusal("picture", kind="HEIC or AVIF")
        raise Refusal("media", kind="an audio or video file")
    for signature, name in _PROGRAMS:
        if head.startswith(signature) and (signature != b"MZ" or b"\x00" in head[:64]):
            raise Refusal("executable", kind=name)
    for signature, name in _MEDIA:
        if head.startswith(signature):
            raise Refusal("media", kind=name)
    for signature, name, instead in _OTHERS:
        if head.startswith(signature):
            raise Refusal("unreadable", kind=name, instead=instead)
    if head[:1] == b"\x80" and head[1:2] in b"\x02\x03\x04\x05" and (head[1:2] < b"\x04" or head[2:3] == b"\x95"):
        raise Refusal("unreadable", kind="Python pickle", instead="CSV (it can hold code, so it is never opened)")
    if _is_dbase(head):
        raise Refusal("unreadable", kind="dBASE (DBF)", instead="CSV")
    if head[257:262] == b"ustar":
        raise Refusal("unreadable", kind="tar", instead="zip")
    if head.lstrip()[:512].lower().startswith((b"<svg", b"<?xml")) and b"<svg" in head.lower():
        raise Refusal("picture", kind="SVG")


def _is_dbase(head: bytes) -> bool:
    """A version, a date, and a header of fields that ends with a mark."""
    if len(head) < 65 or head[0] not in (0x02, 0x03, 0x30, 0x31, 0x43, 0x83, 0x8B, 0xF5) or not (1 <= head[2] <= 12 and 1 <= head[3] <= 31):
        return False
    size = int.from_bytes(head[8:10], "little")
    return size > 64 and head[43:44] in b"CNDLFMBIT@Y+OGPQVWX" and (size > len(head) or b"\r" in head[size - 265 if size > 265 else 0 : size + 1])


def refuse_text(text: str) -> None:
    """Refuse what is text but stands in place of the file that was meant."""
    start = text[:300].lstrip("\ufeff \t\r\n")
    if start.startswith("version https://git-lfs.github.com/spec/"):
        raise Refusal("pointer")
    if start.startswith("-----BEGIN PGP MESSAGE-----"):
        raise Refusal("encrypted", kind="PGP")
    if start.startswith(("$ANSIBLE_VAULT;", "age-encryption.org/v1", "-----BEGIN AGE ENCRYPTED FILE-----")):
        raise Refusal("encrypted", kind="Ansible Vault" if start[0] == "$" else "age")


def _is_binary(head: bytes) -> bool:
    """Too many control characters for a text in any encoding that is read."""
    if head.startswith((b"\xff\xfe", b"\xfe\xff", b"\xef\xbb\xbf")):
        return False
    nuls = head.count(0)
    if nuls and charsets.utf16(head):
        return False
    if nuls > 0.2 * len(head):
        return True
    control = sum(head.count(c) for c in (*range(2, 9), 14, 15, *range(16, 26), 127)) + nuls
    return control > 0.02 * len(head) + 2


def open_zip(f: BinaryIO, kind: str = "zip") -> zipfile.ZipFile:
    """A zip's directory, or the refusal that says what is wrong with it."""
    try:
        return zipfile.ZipFile(f)
    except (zipfile.BadZipFile, OSError, ValueError, NotImplementedError) as error:
        raise Refusal("truncated_archive", kind=kind) from error


def _seekable(source: Source) -> bool:
    with source.open() as f:
        return f.seekable()


def _in_zip(f: BinaryIO) -> str:
    with f, open_zip(f) as archive:
        names = {info.filename for info in archive.infolist()[:100_000]}
        if "[Content_Types].xml" in names:
            if "xl/workbook.xml" in names:
                return XLSM if "xl/vbaProject.bin" in names else XLSX
            if "xl/workbook.bin" in names:
                raise Refusal("unreadable", kind="XLSB", instead="XLSX")
            if any(n.startswith("word/") for n in names):
                return DOCX
            if any(n.startswith("ppt/") for n in names):
                raise Refusal("unreadable", kind="PowerPoint", instead="the data behind it, as CSV or Excel,")
            if any(n.startswith("xl/") for n in names):
                return XLSX
        if "mimetype" in names and "content.xml" in names:
            with archive.open("mimetype") as m:
                media = m.read(100)
            if b"spreadsheet" in media:
                return ODS
            raise Refusal("unreadable", kind="OpenDocument", instead="DOCX or ODS")
        if any(n.startswith("Index/") and n.endswith(".iwa") for n in names) or "Index.zip" in names:
            raise Refusal("unreadable", kind="Apple Numbers", instead="XLSX or CSV (File, Export To)")
    return ZIP


def _in_ole(source: Source) -> str:
    """An old Office file: its streams' names tell which (as UTF-16)."""
    with source.open() as f:
        data = f.read(1 << 22)
    if "EncryptedPackage".encode("utf-16-le") in data:
        raise Refusal("password", kind="Office")
    if "Workbook".encode("utf-16-le") in data or "Book\x00".encode("utf-16-le") in data:
        return XLS
    if "WordDocument".encode("utf-16-le") in data:
        raise Refusal("unreadable", kind="DOC", instead="DOCX")
    raise Refusal("unreadable", kind="old Office", instead="XLSX or CSV")
