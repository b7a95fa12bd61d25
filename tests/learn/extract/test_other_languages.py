"""Explicit wishes in the languages most spoken."""

import pytest

from acumen.learn.extract.by_rules import extract
from acumen.learn.extract.notes import Reach
from acumen.learn.extract.other_languages import Explicit, explicit_cue
from acumen.model.memories.base import Cause
from tests.learn.talk import days, notes

REMEMBER = {
    "Recuerda que soy alérgica a las nueces.": "soy alérgica a las nueces",
    "N'oublie pas que je suis végétarien.": "je suis végétarien",
    "Merk dir, dass ich nachts arbeite.": "ich nachts arbeite",
    "Lembre-se de que moro em Braga.": "moro em Braga",
    "Ricorda che vivo a Torino.": "vivo a Torino",
    "Запомни, что я живу в Казани.": "я живу в Казани",
    "请记住我对花生过敏": "我对花生过敏",
    "私は左利きです。覚えておいて": "私は左利きです",
    "تذكر أن اسمي ليلى": "اسمي ليلى",
    "याद रखें कि मैं शाकाहारी हूँ": "मैं शाकाहारी हूँ",
    "Recuerda: soy celíaco.": "soy celíaco",
    "Nunca olvides que soy alérgico al maní.": "soy alérgico al maní",
    "Não esqueça que sou diabético": "sou diabético",
    "N'oublie pas : je suis cœliaque.": "je suis cœliaque",
    "Merk dir bitte: ich habe Zöliakie.": "ich habe Zöliakie",
    "Не забудь, что я веган": "я веган",
    "忘れないで、私は東京に住んでいます": "私は東京に住んでいます",
    "لا تنس أنني نباتي": "أنني نباتي",
}
RULES = [
    "Siempre responde en español.",
    "Réponds toujours en français.",
    "Ab jetzt bitte nur metrische Einheiten.",
    "Nunca use emojis nas respostas.",
    "D'ora in poi rispondi in italiano.",
    "Всегда отвечай по-русски.",
    "从现在起用中文回答",
    "これからは日本語で答えて",
    "Ne réponds jamais en anglais.",
    "Responda sempre em português.",
    "Antwoord altijd in het Nederlands.",
    "Nigdy nie używaj emoji.",
    "हमेशा हिंदी में जवाब दो",
    "Ne me tutoie jamais.",
    "Verwende niemals Emojis.",
    "Antworte ab jetzt immer auf Englisch.",
    "英語では絶対に答えないで。",
    "कभी अंग्रेज़ी में जवाब मत दो।",
    "لا تستخدم الرموز أبدا.",
    "دائما أجب بالعربية",
]
FORGET = {
    "Olvida que vivo en Madrid.": "vivo en Madrid",
    "Oublie que j'habite à Lyon.": "j'habite à Lyon",
    "Vergiss, dass ich in Köln wohne.": "ich in Köln wohne",
    "Esqueça que moro em Braga.": "moro em Braga",
    "Забудь, что я живу в Казани.": "я живу в Казани",
    "忘记我的地址": "我的地址",
    "私の住所を忘れて": "私の住所",
}


@pytest.mark.parametrize("sentence, rest", REMEMBER.items())
def test_what_is_to_be_remembered_is_kept_in_its_own_language(sentence: str, rest: str):
    cue = explicit_cue(sentence)

    assert cue is not None
    assert (cue.what, cue.about) == (Explicit.REMEMBER, rest)


@pytest.mark.parametrize("sentence", RULES)
def test_always_and_never_set_a_standing_rule(sentence: str):
    (note,) = notes(sentence)

    assert note.standing
    assert note.lesson.content == sentence


@pytest.mark.parametrize("sentence, target", FORGET.items())
def test_what_is_to_be_forgotten_is_named(sentence: str, target: str):
    (ending,) = extract(days(sentence)).endings

    assert (ending.cause, ending.target, ending.reach) == (Cause.FORGET, target, Reach.NAMED)


@pytest.mark.parametrize("sentence", ["Vergiss alles, was du über mich weißt.", "Olvida todo lo que sabes de mí."])
def test_everything_is_forgotten_only_when_all_of_it_is_named(sentence: str):
    (ending,) = extract(days(sentence)).endings

    assert ending.reach is Reach.EVERYTHING


@pytest.mark.parametrize(
    "sentence",
    [
        "Ich war gestern im Kino.",
        "Me gusta el café.",
        "今天天气很好",
        "Nunca he estado en Roma.",
        "Toujours pas de réponse...",
        "Mai stato a Roma",
        "Никогда не был в Риме",
        "いつもありがとう",
        "Kannst du dir das merken?",
        "Je ne mange jamais de viande.",
        "Immer!",
    ],
)
def test_other_sentences_of_these_languages_stay_in_the_turns(sentence: str):
    assert notes(sentence) == []
