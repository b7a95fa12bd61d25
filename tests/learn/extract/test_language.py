"""The language of a short text."""

import pytest

from acumen.learn.extract.language import language_of


@pytest.mark.parametrize(
    "text,language",
    [
        ("I live in Bonn and my dog is called Rex.", "English"),
        ("Meine Praxis ist in der Lindenstraße 12.", "German"),
        ("Mi hija Lucía empieza la universidad en septiembre.", "Spanish"),
        ("Ne pousse jamais sur main, passe par une pull request.", "French"),
        ("Eu uso Zustand para o estado no nosso app, não Redux.", "Portuguese"),
        ("Sono allergico alle noci e non mangio carne.", "Italian"),
        ("我对花生过敏。", "Chinese"),
        ("私は京都に住んでいます。", "Japanese"),
        ("저는 서울에 살아요.", "Korean"),
        ("Меня зовут Анна.", "Russian"),
        ("npm ci", ""),
        ("", ""),
    ],
)
def test_it_is_known_by_script_and_common_words(text: str, language: str):
    assert language_of(text) == language


def test_a_name_in_another_script_does_not_decide():
    assert language_of("The user is called 李 and lives in the north.") == "English"
