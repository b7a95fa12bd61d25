"""What users say explicitly, in the languages most spoken: remember this, always or never do that, forget this.

Only what opens a sentence counts. Everything else that is said in these languages stays in the turns, where search and
the context find it.
"""

import re
from enum import StrEnum
from functools import cache

from msgspec import Struct

from acumen.learn.extract.language import language_of


class Explicit(StrEnum):
    REMEMBER = "remember"
    RULE = "rule"  # always, never, from now on
    FORGET = "forget"


class Cue(Struct, frozen=True):
    """`about` is what follows the cue; of a rule it is the whole sentence."""

    what: Explicit
    about: str
    everything: bool = False  # "forget everything": all of the user's memories


# One row per language: how a sentence opens that asks to remember, sets a rule, asks to forget; then "everything (you
# know) about", and "me" behind that. Scripts without spaces need no word boundary.
_LANGUAGES = {
    "Spanish": (
        "recuerda que|recuerde que|acuérdate de que|ten en cuenta que|apunta que",
        "(?:responde |contesta |usa |escribe )?(?:siempre|nunca)|jamás|a partir de ahora|de ahora en adelante",
        "olvida que|olvida|olvídate de|borra(?= (?:todo )?lo que sabes)",
        "(?:tod[oa]s?|lo que sabes)(?: lo que sabes)?(?: (?:de|sobre))?",
        "mí",
    ),
    "French": (
        "souviens-toi que|rappelle-toi que|retiens que|souvenez-vous que|n'oublie pas que|note que",
        "(?:(?:ne |n')?(?:répond[sz]?|utilise|écris) )?(?:toujours|jamais)|ne jamais|désormais|à partir de maintenant",
        "oublie que|oublie|oubliez|efface(?= (?:tout )?ce que tu sais)",
        "(?:toute?s?|tous|ce que tu sais)(?: ce que tu sais)?(?: (?:de|sur))?",
        "moi",
    ),
    "German": (
        "merke? dir,? dass|merke? dir|denk daran,? dass|erinnere dich daran,? dass|vergiss nicht,? dass|notiere,? dass",
        "immer|nie(?:mals)?|ab jetzt|ab sofort|von jetzt an|in zukunft|(?:antworte|verwende|be?nutze) (?:immer|nie)",
        "vergiss,? dass|vergiss|vergessen sie|lösche?(?=(?: alles)?,? was du)",
        "(?:alles?|was du)(?:,? was du)?(?: (?:über|von))?",
        "(?:(?:mich|mir) ?)?(?:weißt)?",
    ),
    "Portuguese": (
        "lembre-se (?:de )?que|lembra-te (?:de )?que|lembre que|anote que|tenha em mente que",
        "(?:respond[ae] |use |usa |escrev[ae] )?(?:sempre|nunca|jamais)|a partir de agora|de agora em diante",
        "esqueça que|esquece que|esqueça|esquece|apague(?= (?:tudo )?o que)",
        "(?:tod[oa]s?|tudo|o que (?:você )?sabes?)(?: o que (?:você )?sabes?)?(?: (?:de|sobre))?",
        "mim",
    ),
    "Italian": (
        "ricorda che|ricordati che|tieni presente che|annota che",
        "sempre|mai|non .{1,40} mai|d'ora in poi|da ora in poi|rispondi sempre|usa sempre|non usare mai",
        "dimentica che|dimentica|cancella(?= (?:tutto )?quello che sai)",
        "(?:tutt[oaie]|quello che sai)(?: quello che sai)?(?: (?:su )?di| su)?",
        "me",
    ),
    "Russian": (
        "запомни,? что|запомните,? что|запомни|помни,? что|имей в виду,? что",
        "всегда|никогда|отныне|с этого момента|впредь|больше не",
        "забудь,? что|забудь(?:те)?(?: об?| про)?|удали(?= вс[её],? что ты знаешь)",
        "вс[её](?:,? что ты знаешь)?(?: (?:обо?|про))?",
        "мне|меня",
    ),
    "Chinese": (
        "请记住|记住|请记得|记得|别忘了|請記住|記住",
        "总是|總是|始终|永远不要|永遠不要|从不|以后都|以后请|從現在起|从现在开始|从现在起|今后|绝不要|不要再",
        "请忘记|忘记|忘掉|请忘掉|別記住|忘記",
        "(?:你知道的)?(?:关于我的)?(?:一切|所有)(?:关于)?",
        "我",
    ),
    "Japanese": (
        "覚えておいて|覚えて|忘れないで",
        "いつも|常に|必ず|絶対に|決して|今後は|これからは",
        "忘れて",
        "(?:私の|僕の)?(?:こと|情報)?(?:を|は)?(?:全部|すべて|全て)",
        "",
    ),
    "Arabic": (
        "تذكر أن|تذكّر أن|تذكري أن|تذكر",
        "دائما|دائماً|أبدا|أبداً|لا .{1,40} أبدا|من الآن فصاعدا|من الآن فصاعداً",
        "انس أن|انسَ أن|انسى أن|انس|انسَ|انسى",
        "كل شيء(?: تعرفه)?(?: عن)?",
        "ي|عني",
    ),
    "Hindi": (
        "याद रखो कि|याद रखें कि|याद रखना कि|याद रखें|याद रखो",
        "हमेशा|कभी नहीं|कभी भी|अब से",
        "भूल जाओ कि|भूल जाइए कि|भूल जाओ|भूल जाइए",
        "(?:मेरे बारे में )?सब ?कुछ",
        "",
    ),
    "Bengali": (
        "মনে রেখো যে|মনে রাখবেন যে|মনে রেখো|মনে রাখবেন",
        "সবসময়|সর্বদা|কখনো|এখন থেকে",
        "ভুলে যাও যে|ভুলে যাও|ভুলে যান",
        "(?:আমার সম্পর্কে )?সবকিছু",
        "",
    ),
    "Urdu": (
        "یاد رکھو کہ|یاد رکھیں کہ|یاد رکھیں",
        "ہمیشہ|کبھی نہیں|اب سے",
        "بھول جاؤ کہ|بھول جائیں کہ|بھول جاؤ|بھول جائیں",
        "(?:میرے بارے میں )?سب کچھ",
        "",
    ),
    "Indonesian": (
        "ingat bahwa|ingatlah bahwa|catat bahwa|ingat",
        "selalu|jangan pernah|mulai sekarang",
        "lupakan bahwa|lupakan",
        "semua(?:nya)?(?: tentang)?",
        "saya|aku",
    ),
    "Dutch": (
        "onthoud dat|onthoud|vergeet niet dat|noteer dat",
        "altijd|nooit|vanaf nu|voortaan|(?:antwoord|gebruik|schrijf) (?:altijd|nooit)",
        "vergeet dat|vergeet(?! niet)",
        "(?:alles|alle|wat je weet)(?: wat je weet)?(?: over)?",
        "mij|me",
    ),
    "Polish": (
        "zapamiętaj,? że|zapamiętaj|pamiętaj,? że|zanotuj,? że",
        "zawsze|nigdy|od teraz|od dziś",
        "zapomnij,? że|zapomnij(?: o)?",
        r"(?:wszystk\w+)(?:,? co wiesz)?(?: o)?",
        "mnie",
    ),
    "Korean": (
        "기억해 줘|기억해줘|기억해",
        "(?:다음부터 )?(?:항상|절대)|앞으로는|이제부터",
        "잊어 줘|잊어줘|잊어버려",
        "(?:나에 대해|내 정보)? ?(?:전부|모두)",
        "",
    ),
}
# Japanese and Korean put the verb at the end: "… を忘れて", "… 기억해 줘".
_VERB_LAST = ("Japanese", "Korean")
_UNSPACED = ("Chinese", *_VERB_LAST)
_PLEASE = (
    r"(?:(?:por favor|s'il te plaît|s'il vous plaît|bitte|per favore|пожалуйста|请|請|من فضلك|कृपया|tolong)[,، ]*)?"
)


# Behind "always" and "never": who says so, or a past. Such a sentence reports something ("Nunca he estado en Roma").
_REPORTS = re.compile(
    r"(?:he|hemos|ha|han|había|se|fui|estuve|tuve|me \w+[oéí]|\w+(?:ía|aba|amos|emos)|je|on|nous|pas|rien|eu|été|vu|"
    r"ich|wir|er|sie|es|wieder|noch|mehr|dasselbe|war|stat[oa]|vist[oa]|ho|abbiamo|sono|più|tive|estive|vi|mais|"
    r"не был\w*|я|мы|больше|так|meer|weer|ik|we|hetzelfde|nie by\w+|ja|już|więcej|की तरह)(?!\w)|ありがとう|すみません",
    re.IGNORECASE,
)


class _Pattern(Struct, frozen=True):
    what: Explicit
    at_end: bool  # the cue follows what it is about
    cue: re.Pattern[str]
    everything: re.Pattern[str]
    user: re.Pattern[str]


@cache
def _patterns() -> list[_Pattern]:
    patterns = []
    for language, (remember, rule, forget, everything, user) in _LANGUAGES.items():
        edge = "" if language in _UNSPACED else r"(?!\w)"
        for what, cues in ((Explicit.REMEMBER, remember), (Explicit.FORGET, forget), (Explicit.RULE, rule)):
            at_end = language in _VERB_LAST and what is not Explicit.RULE
            text = (
                rf"(?:を|을|를|は|은|는)?\s*(?:{cues})(?:ください|下さい|ね|주세요|요)?[.。!！]*$"
                if at_end
                else rf"{_PLEASE}(?:{cues}){edge}[,:，：]?\s*"
            )
            whole = rf"(?:{everything}){edge}[, ]*"
            compiled = (re.compile(pattern, re.IGNORECASE) for pattern in (text, whole, user))
            patterns.append(_Pattern(what, at_end, *compiled))
    return patterns


def explicit_cue(sentence: str) -> Cue | None:
    """The cue with which a sentence in another language than English opens or, by its grammar, ends."""
    text = " ".join(sentence.split())
    if text.endswith(("?", "？")) or language_of(text) == "English":
        return None
    for pattern in _patterns():
        match = pattern.cue.search(text) if pattern.at_end else pattern.cue.match(text)
        about = (text[: match.start()] if pattern.at_end else text[match.end() :]).strip(" .。!！،,") if match else ""
        if about and pattern.what is Explicit.RULE:
            return None if _REPORTS.match(about) else Cue(pattern.what, text)
        if about:
            return _forget(about, pattern) if pattern.what is Explicit.FORGET else Cue(pattern.what, about)
    return None


def _forget(about: str, pattern: _Pattern) -> Cue:
    """Everything is meant only when nothing else is named: "alles über mich", not "alles über meinen Hund"."""
    everything = pattern.everything.match(about)
    named = about[everything.end() :].strip() if everything else about
    return Cue(
        Explicit.FORGET, named or about, everything=bool(everything and (not named or pattern.user.fullmatch(named)))
    )
