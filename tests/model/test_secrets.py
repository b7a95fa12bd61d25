"""Secrets are taken out of text, and nothing else is."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from acumen.model.secrets import redact


@pytest.mark.parametrize(
    "text, shown",
    [
        ("use sk-proj-abcdefghij0123456789ABCD now", "use [redacted key] now"),
        ("token ghp_abcdefghijklmnopqrstuvwxyz0123", "token [redacted key]"),
        ("AKIAIOSFODNN7EXAMPLE is ours", "[redacted key] is ours"),
        ("Authorization: Bearer abcdefghijklmnop.qrstuvwx", "Authorization: [redacted token]"),
        ("my password is hunter2.", "my password is [redacted password]"),
        ("API_KEY=abc123xyz", "API_KEY=[redacted api_key]"),
        ("DB_PASSWORD=hunter2", "DB_PASSWORD=[redacted password]"),
        ('{"password": "hunter2"}', '{"password": "[redacted password]"}'),
        ("pin: 4711", "pin: [redacted pin]"),
        ("postgres://ann:s3cret@db:5432/x", "postgres://ann:[redacted password]@db:5432/x"),
        ("pass --password Xk29fjw0 to it", "pass --password [redacted password] to it"),
        ("use passphrase 'correct horse battery'", "use passphrase [redacted password]"),
        ("log in with the password hunter2x, please", "log in with the password [redacted password], please"),
        ("my pin 4711 and cvv 123", "my pin [redacted pin] and cvv [redacted cvv]"),
        ("the password for the staging db is s3cr3tPass!", "the password for the staging db is [redacted password]"),
        ("my password changed to Sunflower99", "my password changed to [redacted password]"),
        ("the wifi password's Sunflower99", "the wifi password's [redacted password]"),
        ("as bob with password hunter2", "as bob with password [redacted password]"),
        ("the password to the vault is: opensesame", "the password to the vault is: [redacted password]"),
        ("password = 'correct horse battery'", "password = '[redacted password]'"),
        ('{"password": "correct horse"}', '{"password": "[redacted password]"}'),
        ("das Passwort ist geheim123", "das Passwort ist [redacted passwort]"),
        ("DB_PASS=hunter2", "DB_PASS=[redacted password]"),
        ("pw: hunter2", "pw: [redacted password]"),
        ("curl -s -u ann:hunter2 https://x", "curl -s -u ann:[redacted password] https://x"),
        ("mysql -u root -phunter2", "mysql -u root -p[redacted password]"),
        ("Authorization: Basic dXNlcjpwYXNzd29yZA==", "Authorization: [redacted token]"),
        ("secret wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY", "secret [redacted key]"),
        ("SG.abcdefghijklmnopqrstuv.wxyzABCDEFGHIJKLMNOPQRSTUVWXYZ01234", "[redacted token]"),
        ("cvv 123 on the back", "cvv [redacted cvv] on the back"),
        ("2FA code 482913", "2FA code [redacted 2fa code]"),
        ("card 4111 1111 1111 1111 please", "card [redacted card] please"),
        ("ssn 078-05-1120", "ssn [redacted number]"),
        ("key d8Kf02mQpLz7Xw41RtYbN5vHc3GsEj9U", "key [redacted key]"),
        ("it is wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY", "it is [redacted key]"),
        ("try je7MtGbClwBF/2Zp9Utk/h3yCo8nvbEXAMPLEKEY.", "try [redacted key]."),
        ("account AC0123456789abcdef0123456789abcdef", "account [redacted key]"),
        ("SKfedcba9876543210fedcba9876543210 signs", "[redacted key] signs"),
        ("twilio auth token fedcba9876543210fedcba9876543210", "twilio auth token [redacted key]"),
        ("auth_token: fedcba9876543210fedcba9876543210", "auth_token: [redacted auth_token]"),
        ("pay to DE89 3704 0044 0532 0130 00 today", "pay to [redacted account] today"),
        ("IBAN GB29NWBK60161331926819", "IBAN [redacted account]"),
        ("FR14 2004 1010 0505 0001 3M02 606", "[redacted account]"),
        ("amex 3782 822463 10005", "amex [redacted card]"),
    ],
)
def test_a_secret_is_replaced_by_its_name(text: str, shown: str):
    assert redact(text) == shown


@pytest.mark.parametrize(
    "text",
    [
        "The password is wrong.",
        "My token is expired.",
        "The secret is being rotated.",
        "Order 1234 5678 9012 3456 arrived.",
        "Deploy to us-west-2 with version 1.2.3.",
        "See https://example.org/a/very/long/path/without/any/secret/in/it/at/all",
        "antidisestablishmentarianism-and-other-long-words-without-digits",
        "Call me at 14:30 on 2024-05-01.",
        "My password manager is 'Vault'.",
        "The password hashing uses SHA256 and a password SHA256 digest.",
        "Pin 3306 as the port, and connect pin 13 without a password.",
        "Run it with --token-file notes.txt.",
        "The password for db2 is stored in 1Password.",
        "The token budget for gpt-4o is 200k.",
        "Change the password every 90 days.",
        "Our password policy is NIST 800-63.",
        "The security code review is at 10:30.",
        "Run it with -u 1000:1000 and -p8080:80.",
        "Pin 2024.1 of it, and pin 12 is ground.",
        "Fixed in 9fceb02d0ae598e95dc970b74767f19372d61af8, see git log.",
        "sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
        "md5 is 9e107d9d372bb6826bd81d3542a419d6, request 0f8fad5b-d9cd-469f-a165-70867728950e.",
        "See #RashtraGauravTennisTournament2023 or TheVeryLongClassNameOfAFactory2Builder.",
        "The token is sold, and the secret to success is patience.",
        "DB_PASSWORD=$MYSQL_ROOT_PASSWORD and mysql -u root -p$MYSQL_ROOT_PASSWORD",
        "password = request.form['password']",
        "<label for='password'>Password:</label>",
        "password: your-password-here",
        "1. **Use a password manager:** it helps.",
        "23 24 25 26 27 28 29",
        "It took 1767603600000 ms, order 4111-22.",
        "DE89 3704 0044 0532 0130 01 has a typing error.",
        "npm-run-all-in-parallel-with-output and hf-transformers-documentation",
    ],
)
def test_plain_words_stay_as_they_are(text: str):
    assert redact(text) == text


@given(st.text(max_size=300))
def test_redacting_twice_is_redacting_once(text: str):
    once = redact(text)

    assert redact(once) == once
