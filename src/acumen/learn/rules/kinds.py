"""What kind of thing a value is (a region, a language, a time): the same kind in the same place is a rival value."""

from acumen.model.patterns import later

_NAMED = {
    "programming language": "python javascript typescript java kotlin go golang rust ruby php swift scala perl c c++ "
    "c# haskell elixir r julia lua clojure",
    "database": "postgres postgresql mysql mariadb sqlite mongodb mongo dynamodb oracle cassandra cockroachdb redis "
    "mssql snowflake bigquery redshift clickhouse",
    "package manager": "npm yarn pnpm bun pip poetry uv conda pipenv cargo maven gradle",
    "test framework": "pytest unittest jest vitest mocha junit rspec cypress playwright selenium",
    "editor": "vim neovim emacs vscode pycharm intellij sublime zed webstorm",
    "operating system": "windows linux ubuntu debian fedora macos mac osx arch",
    "cloud": "aws azure gcp heroku vercel netlify digitalocean hetzner cloudflare",
    "language": "english french german spanish italian portuguese dutch polish russian ukrainian chinese mandarin "
    "cantonese japanese korean arabic hebrew turkish hindi swedish norwegian danish finnish greek czech",
    "indentation": "tabs tab spaces",
    "units": "metric imperial celsius fahrenheit kilometers kilometres miles kilograms pounds kg lbs km grams cups",
    "currency": "usd eur gbp chf jpy cad aud dollars euros",
    "color": "red blue green black white yellow purple orange pink grey gray navy teal",
    "diet": "vegan vegetarian pescatarian omnivore keto paleo carnivore",
    "theme": "dark light",
    "channel": "email sms text phone slack whatsapp telegram teams chat call calls texts emails",
    "weekday": "monday mondays tuesday tuesdays wednesday wednesdays thursday thursdays friday fridays saturday "
    "saturdays sunday sundays",
    "environment": "production staging dev development sandbox",
    "length": "short shorter brief briefer concise terse long longer detailed verbose lengthy thorough in-depth",
    "formality": "formal casual informal",
    "format": "json yaml xml csv toml markdown html pdf",
    "order": "ascending descending",
    "rhythm": "daily weekly biweekly monthly quarterly yearly annually hourly",
    "time of day": "morning mornings afternoon afternoons evening evenings",
    "spelling": "british american",
    "seat": "aisle window",
    "marital status": "single married divorced widowed engaged",
}
_KINDS = {word: kind for kind, listed in _NAMED.items() for word in listed.split()}

_SHAPES = [
    ("region", later(r"(?:us|eu|ap|sa|ca|me|af|il|cn)-(?:gov-)?(?:nor|sou|ea|we|cen)[a-z]*-?\d[a-z]?$")),
    ("region", later(r"(?:us|europe|asia|australia|northamerica|southamerica)-[a-z]+\d(?:-[a-z])?$")),
    ("email address", later(r"[\w.+-]+@[\w-]+\.[\w.-]+$")),
    ("address", later(r"https?://\S+$")),
    ("time", later(r"\d{1,2}(?::\d\d)?(?:am|pm)$|\d{1,2}:\d\d$|noon$|midnight$")),
    ("amount", later(r"[$€£]\d[\d,.]*[kmb]?$|\d[\d,.]*(?:usd|eur|gbp|k)$")),
    ("percentage", later(r"\d[\d.]*%$")),
    ("version", later(r"v\d+(?:\.\d+)*$|\d+\.\d+(?:\.\d+)+$")),
    ("line length", later(r"\d+-(?:column|character|char)s?$")),
]  # fmt: skip


KINDS = frozenset(_NAMED) | {kind for kind, _ in _SHAPES}

# Names that are also plain words: only a capital, or a place where a name must stand, makes them names.
_ALSO_WORDS = frozenset(
    "go c r swift rust bun arch teams julia oracle mocha cargo perl scala chat text call calls texts "
    "windows mac".split()
)
# Qualities: they are values where they end the phrase, or stand before what they are qualities of.
_QUALITIES = {
    "theme": "mode theme background scheme", "marital status": "", "order": "order", "spelling": "spelling english",
    "length": "answers answer replies reply responses response explanations explanation messages summaries summary",
    "formality": "tone style language emails email", "seat": "seat seats", "color": "theme color colour",
}  # fmt: skip


def kind_of(word: str) -> str | None:
    """The kind of a lower-case word, or None when it is just a word."""
    known = _KINDS.get(word)
    if known:
        return known
    if not any(character.isdigit() or character in "@:" for character in word) and word not in ("noon", "midnight"):
        return None
    return next((kind for kind, shape in _SHAPES if shape.match(word)), None)


_NAMED_BEFORE = frozenset("use in with prefer love by than".split())
_COUNTED_BEFORE = frozenset("every each all any the this that your per".split())
_AFTER_QUALITY = frozenset([",", "and", "or", ".", "in", "for", "when"])


def kind_in_place(text: str, before: str, after: str) -> str | None:
    """The kind of a word as written, between its neighbours (lower case, "" at an end)."""
    low = text.lower().strip("`\"'")
    kind = kind_of(low)
    if low in _ALSO_WORDS and not text[:1].isupper() and before not in _NAMED_BEFORE:
        return None
    if kind == "channel" and before in _COUNTED_BEFORE:
        return None
    qualifies = not after or after in _AFTER_QUALITY or after in _QUALITIES.get(kind or "", "").split()
    return kind if kind not in _QUALITIES or qualifies else None
