"""Sentences, and their translations, from packages of permissive licences."""
import ast
import gettext
import io
import json
import re
import tarfile
import zipfile

LANGUAGES = ("ar", "de", "es", "fr", "it", "ja", "ko", "nl", "pt", "ru", "tr", "zh")
# Of a language with several forms one is taken.
FORMS = {"ar-sa": "ar", "de-de": "de", "es-es": "es", "fr-fr": "fr", "it-it": "it", "ja-jp": "ja", "ko-kr": "ko",
         "nl-nl": "nl", "pt-br": "pt", "ru-ru": "ru", "tr-tr": "tr", "zh-cn": "zh", "zh-hans": "zh"}


def language(code):
    code = code.replace("_", "-").lower()
    code = FORMS.get(code, code)
    return code if code in LANGUAGES else None


PLACES = re.compile(r"%\(\w+\)[sdr]|%[sdrifx]|%\d\$?[sd]?|\$?\{\{?[^{}]*\}\}?|<[^<>]*>|\[/?\w+\]|&\w+;|\$t\([^)]*\)|__\w+__")


def plain(text):
    """A message without its placeholders and marks."""
    text = PLACES.sub(" ", text).replace("&", "").replace("`", " ").replace("*", " ")
    return re.sub(r"\s+", " ", text).strip(" :.…-|\"'")


def worth(text):
    letters = sum(c.isalpha() for c in text)
    return 2 <= len(text) <= 240 and letters >= 0.6 * len(text.replace(" ", ""))


class Package:
    """The files of a wheel, of an npm package or of a source archive."""

    def __init__(self, path):
        self.zip = zipfile.ZipFile(path) if path.endswith(".whl") else None
        if self.zip:
            self.names = sorted(self.zip.namelist())
        else:
            self.files = {}
            with tarfile.open(path) as archive:
                for member in archive:
                    if member.isfile():
                        self.files[member.name] = archive.extractfile(member).read()
            self.names = sorted(self.files)

    def read(self, name):
        return self.zip.read(name) if self.zip else self.files[name]

    def text(self, name):
        return self.read(name).decode("utf-8", "replace")

    def matching(self, pattern):
        pattern = re.compile(pattern)
        for name in self.names:
            if m := pattern.search(name):
                yield name, m


def catalogues(package, found):
    """Compiled messages of gettext, whose key is the English text."""
    for name, m in package.matching(r"(?:^|/)locale/([\w-]+)/LC_MESSAGES/\w+\.mo$"):
        if "/tests/" in name or not (lang := language(m[1])):
            continue
        try:
            messages = gettext.GNUTranslations(io.BytesIO(package.read(name)))._catalog
        except (OSError, UnicodeDecodeError):
            continue
        for key, text in messages.items():
            key = key[0] if isinstance(key, tuple) else key
            if isinstance(key, str) and isinstance(text, str):
                found(key.split("\x04")[-1], lang, text)


def flat(tree, at=()):
    if isinstance(tree, dict):
        for key in sorted(tree):
            yield from flat(tree[key], at + (key,))
    elif isinstance(tree, list):
        for i, one in enumerate(tree):
            yield from flat(one, at + (i,))
    elif isinstance(tree, str):
        yield at, tree


def trees(package, pattern, found, english="en"):
    """Messages in files of JSON, one folder or file of a language each, by key."""
    files = {}
    for name, m in package.matching(pattern):
        code = m["lang"]
        rest = name[:m.start("lang")] + "*" + re.sub(r"-[0-9a-f]{32}", "", name[m.end("lang"):])
        if code.lower() == english or language(code):
            files.setdefault(rest, {})[english if code.lower() == english else language(code)] = name
    for rest in sorted(files):
        if english not in files[rest]:
            continue
        base = dict(flat(json.loads(package.text(files[rest][english]))))
        for lang in sorted(set(files[rest]) - {english}):
            for at, text in flat(json.loads(package.text(files[rest][lang]))):
                if at in base:
                    found(base[at], lang, text)


def typescript(package, found):
    """Diagnostics: the key is made of the English text, which the compiler has."""
    source = package.text("package/lib/typescript.js")
    english = {}
    for key, text in re.findall(r'diag\(\d+, \d+ /\* \w+ \*/, "((?:[^"\\]|\\.)*)", "((?:[^"\\]|\\.)*)"', source):
        english[json.loads(f'"{key}"')] = json.loads(f'"{text}"')
    for name, m in package.matching(r"lib/([\w-]+)/diagnosticMessages\.generated\.json$"):
        if lang := language(m[1]):
            for key, text in sorted(json.loads(package.text(name)).items()):
                if key in english:
                    found(english[key], lang, text)


def emoji(package, found):
    """Names of what is drawn, and words that go with it."""
    def data(lang):
        return {e["hexcode"]: e for e in json.loads(package.text(f"package/{lang}/data.json"))}
    english = data("en")
    for lang in LANGUAGES:
        if f"package/{lang}/data.json" not in package.names:
            continue
        for code, one in sorted(data(lang).items()):
            if code in english and "label" in one:
                base = english[code]
                found(base["label"], lang, one["label"])
                found(" ".join([base["label"]] + base.get("tags", [])), lang, " ".join([one["label"]] + one.get("tags", [])))


def monaco(package, found):
    """Messages of an editor: a list, the same for each language; English stands in the code beside its number."""
    english = {}
    for name, _ in package.matching(r"package/esm/vs/.*\.js$"):
        for number, text in re.findall(r'localize2?\(\s*(\d+)\s*,\s*("(?:[^"\\]|\\.)*"|\'(?:[^\'\\]|\\.)*\')', package.text(name)):
            english[int(number)] = ast.literal_eval(text)
    for name, m in package.matching(r"package/esm/nls\.messages\.([\w-]+)\.js$"):
        if lang := language(m[1]):
            text = package.text(name)
            start = text.index("[", text.index("_VSCODE_NLS_MESSAGES"))
            messages, _ = json.JSONDecoder().raw_decode(text[start:])
            for number, message in enumerate(messages):
                if number in english and isinstance(message, str):
                    found(english[number], lang, message)


def countries(package, found):
    trees(package, r"package/langs/(?P<lang>[\w-]+)\.json$", found)


def help_pages(package, found):
    """Help in HTML: paragraphs, where two languages have as many."""
    pages = {}
    for name, m in package.matching(r"package/locales/(?P<lang>[\w-]+)/(?P<page>.*\.html)$"):
        lang = "en" if m["lang"] == "en-US" else language(m["lang"])
        if lang:
            pages.setdefault(m["page"], {})[lang] = re.findall(r"<(?:p|li|dd|h3)\b[^>]*>(.*?)</(?:p|li|dd|h3)>", package.text(name), re.S)
    for page in sorted(pages):
        base = pages[page].pop("en", [])
        for lang in sorted(pages[page]):
            if len(base) == len(pages[page][lang]):
                for a, b in zip(base, pages[page][lang]):
                    found(a, lang, b)


def documentation(package, found):
    """Sentences of pages in reStructuredText or Markdown."""
    for name, _ in package.matching(r"/docs?/(?!.*(?:locale|changelog|releases?/|whatsnew|authors)).*\.(?:txt|rst|md)$"):
        for block in re.split(r"\n\s*\n", package.text(name)):
            if re.match(r"\s*(\.\.|>>>|\||[=+-]{3}|\d{4}|`{3}|\$)|\s{5}", block):
                continue
            block = re.sub(r":[\w:-]+:`~?([^`<]*)(?:<[^`]*>)?`_*", r"\1", block)
            block = re.sub(r"[`*_]+|\[([^\]]*)\]\([^)]*\)", r"\1", block)
            for sentence in re.findall(r"[A-Z][^.!?\n][^.!?]{15,200}[.!?](?=\s|$)", re.sub(r"\s+", " ", block)):
                found(sentence)


def dialogue(package, found):
    """Talk: what is said, and what is answered."""
    for name, _ in package.matching(r"data/english/\w+\.yml$"):
        for line in package.text(name).splitlines():
            if m := re.match(r"\s*(?:- )?- (.*)", line):
                for sentence in re.split(r"(?<=[.!?])\s+", m[1].strip("'\"")):
                    found(sentence)


def home(package, found):
    trees(package, r"hass_frontend/static/translations/(?:\w+/)?(?P<lang>[\w-]+)-[0-9a-f]{32}\.json$", found)


def airflow(package, found):
    trees(package, r"i18n/locales/(?P<lang>[\w-]+)/\w+\.json$", found)


def nodered(package, found):
    trees(package, r"locales/(?P<lang>[\w-]+)/\w+\.json$", found, english="en-us")
    help_pages(package, found)


COLUMNS = ("en", "de", "es", "fr", "it", "nl", "pt", "ru", "tr", "ar", "zh", "ja", "ko")


def parts(path):
    """The lines of a file by the part that they are in, each by language."""
    out, part = {}, ""
    for line in path.read_text(encoding="utf-8").splitlines():
        if m := re.match(r"\[(\w+)\]$", line):
            part = m[1]
        elif line and not line.startswith("#"):
            columns = line.split("|")
            if len(columns) != len(COLUMNS):
                raise ValueError(f"{path.name}: {len(columns)} columns: {line}")
            out.setdefault(part, []).append(dict(zip(COLUMNS, columns)))
    return out


def own(words, sentences, found):
    """Sentences of our own: each with each word of its part, and words and whole sentences alone."""
    for part, lines in sentences.items():
        for line in lines:
            for word in words.get(part, [None]) if "{}" in line["en"] else [None]:
                text = {lang: line[lang].replace("{}", word[lang]) if word else line[lang] for lang in COLUMNS}
                for lang in COLUMNS[1:]:
                    found(plain(text["en"]), lang, plain(text[lang]))
    for lines in words.values():
        for line in lines:
            for lang in COLUMNS[1:]:
                found(line["en"], lang, line[lang])
