"""What users say explicitly, in the languages most spoken: remember this, always or never do that, forget this.

Only what opens a sentence counts. Everything else that is said in these languages stays in the turns, where search and
the context find it.
"""

import re
from enum import StrEnum
from functools import cache

from msgspec import Struct


class Explicit(StrEnum):
    REMEMBER = "remember"
    RULE = "rule"  # always, never, from now on
    FORGET = "forget"


class Cue(Struct, frozen=True):
    """`rest` is what the cue is about; of a rule it is the whole sentence."""

    what: Explicit
    rest: str
    everything: bool = False  # "forget everything": all of the user's memories


# One row per language: how a sentence opens that asks to remember, sets a rule, asks to forget; and the word for
# everything. `_` stands for a space that may be missing. Scripts without spaces need no word boundary.
_LANGUAGES = {
    "Spanish": (
        "recuerda que|recuerde que|acuérdate de que|ten en cuenta que|apunta que",
        "(?:responde |contesta |usa |escribe )?(?:siempre|nunca)|jamás|a partir de ahora|de ahora en adelante",
        "olvida que|olvida lo que|olvida|olvídate de|borra lo que sabes (?:de|sobre)|borra",
        "todo",
    ),
    "French": (
        "souviens-toi que|rappelle-toi que|retiens que|souvenez-vous que|n'oublie pas que|note que",
        "toujours|(?:ne )?jamais|désormais|à partir de maintenant|(?:réponds?|n?'?utilise) (?:toujours|jamais)",
        "oublie que|oublie ce que|oublie|oubliez|efface ce que tu sais (?:de|sur)|efface",
        "tout",
    ),
    "German": (
        "merke? dir,? dass|merke? dir|denk daran,? dass|erinnere dich daran,? dass|vergiss nicht,? dass|notiere,? dass",
        "immer|nie(?:mals)?|ab jetzt|ab sofort|von jetzt an|in zukunft|(?:antworte|verwende|be?nutze) (?:immer|nie)",
        "vergiss,? dass|vergiss,? was|vergiss|vergessen sie|lösche?,? was du über",
        "alles",
    ),
    "Portuguese": (
        "lembre-se (?:de )?que|lembra-te (?:de )?que|lembre que|anote que|tenha em mente que",
        "sempre|nunca|jamais|a partir de agora|de agora em diante",
        "esqueça que|esquece que|esqueça o que|esquece o que|esqueça|esquece|apague o que (?:você )?sabe sobre",
        "tudo",
    ),
    "Italian": (
        "ricorda che|ricordati che|tieni presente che|annota che",
        "sempre|mai|non .{1,40} mai|d'ora in poi|da ora in poi|rispondi sempre|usa sempre|non usare mai",
        "dimentica che|dimentica quello che|dimentica ciò che|dimentica|cancella quello che sai (?:di|su)",
        "tutto",
    ),
    "Russian": (
        "запомни,? что|запомните,? что|запомни|помни,? что|имей в виду,? что",
        "всегда|никогда|отныне|с этого момента|впредь|больше не",
        "забудь,? что|забудь о|забудь про|забудь|забудьте|удали всё,? что ты знаешь о",
        "всё|все",
    ),
    "Chinese": (
        "请记住|记住|请记得|记得|别忘了|請記住|記住",
        "总是|總是|始终|永远不要|永遠不要|从不|以后都|以后请|從現在起|从现在开始|从现在起|今后|绝不要|不要再",
        "请忘记|忘记|忘掉|请忘掉|删除你知道的关于|別記住|忘記",
        "一切|所有",
    ),
    "Japanese": (
        "覚えておいて|覚えて|忘れないで",
        "いつも|常に|必ず|絶対に|決して|今後は|これからは",
        "忘れて",
        "全部|すべて|全て",
    ),
    "Arabic": (
        "تذكر أن|تذكّر أن|تذكري أن|تذكر",
        "دائما|دائماً|أبدا|أبداً|لا .{1,40} أبدا|من الآن فصاعدا|من الآن فصاعداً",
        "انس أن|انسَ أن|انسى أن|انس|انسَ|انسى",
        "كل شيء",
    ),
    "Hindi": (
        "याद रखो कि|याद रखें कि|याद रखना कि|याद रखें|याद रखो",
        "हमेशा|कभी नहीं|कभी भी|अब से",
        "भूल जाओ कि|भूल जाइए कि|भूल जाओ|भूल जाइए",
        "सब कुछ",
    ),
    "Bengali": (
        "মনে রেখো যে|মনে রাখবেন যে|মনে রেখো|মনে রাখবেন",
        "সবসময়|সর্বদা|কখনো|এখন থেকে",
        "ভুলে যাও যে|ভুলে যাও|ভুলে যান",
        "সবকিছু",
    ),
    "Urdu": (
        "یاد رکھو کہ|یاد رکھیں کہ|یاد رکھیں",
        "ہمیشہ|کبھی نہیں|اب سے",
        "بھول جاؤ کہ|بھول جائیں کہ|بھول جاؤ|بھول جائیں",
        "سب کچھ",
    ),
    "Indonesian": (
        "ingat bahwa|ingatlah bahwa|catat bahwa|ingat",
        "selalu|jangan pernah|mulai sekarang",
        "lupakan bahwa|lupakan",
        "semuanya",
    ),
    "Korean": ("기억해 줘|기억해줘|기억해", "항상|절대|앞으로는|이제부터", "잊어 줘|잊어줘|잊어버려", "전부|모두"),
}
# Japanese and Korean put the verb at the end: "… を忘れて", "… 기억해 줘".
_VERB_LAST = ("Japanese", "Korean")
_PLEASE = (
    r"(?:(?:por favor|s'il te plaît|s'il vous plaît|bitte|per favore|пожалуйста|请|請|من فضلك|कृपया|tolong)[,، ]*)?"
)


@cache
def _patterns() -> list[tuple[Explicit, bool, re.Pattern[str], re.Pattern[str]]]:
    """What a cue means, whether it stands at the end, how it is found, and the word for everything behind it."""
    made = []
    for language, (remember, rule, forget, everything) in _LANGUAGES.items():
        last = language in _VERB_LAST
        for what, words in ((Explicit.REMEMBER, remember), (Explicit.FORGET, forget), (Explicit.RULE, rule)):
            edge = "" if language in ("Chinese", *_VERB_LAST) else r"(?!\w)"
            at_end = last and what is not Explicit.RULE
            text = (
                rf"(?:を|을|를|は|은|는)?\s*(?:{words})(?:ください|下さい|ね|주세요|요)?[.。!！]*$"
                if at_end
                else rf"{_PLEASE}(?:{words}){edge}[,:，：]?\s*"
            )
            made.append((what, at_end, re.compile(text, re.IGNORECASE), re.compile(everything, re.IGNORECASE)))
    return made


# Words that open English sentences too, with another meaning.
_ENGLISH = re.compile(r"\b(?:the|is|and|you|that|with|for)\b", re.IGNORECASE)


def explicit_cue(sentence: str) -> Cue | None:
    """The cue with which a sentence in another language than English opens or, by its grammar, ends."""
    text = " ".join(sentence.split())
    if _ENGLISH.search(text):
        return None
    for what, at_end, pattern, everything in _patterns():
        match = pattern.search(text) if at_end else pattern.match(text)
        if match is None:
            continue
        rest = (text[: match.start()] if at_end else text[match.end() :]).strip(" .。!！،,")
        if not rest:
            continue
        if what is Explicit.RULE:
            return Cue(what, text)
        return Cue(what, rest, everything=what is Explicit.FORGET and bool(everything.match(rest)))
    return None
