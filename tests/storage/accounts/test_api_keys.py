"""Keys and configuration, as rows."""

import pytest
import sqlalchemy as sa

from acumen.errors import Conflict
from acumen.model.account import ApiKey
from acumen.model.ids import Millis
from acumen.storage.accounts.api_keys import any_exist, by_secret
from acumen.storage.store import OrgStore, Store
from acumen.storage.tables import api_keys
from tests.world import ORG

KEY = ApiKey("key_1", ORG, "laptop", "agent", "acm_abcd", Millis(0), None, None)


async def test_the_secret_of_a_key_is_not_stored(store: Store):
    await store.of(ORG).write(lambda tx: tx.api_keys.add(KEY, "acm_abcdefgh-the-secret"))

    stored = await store.read(lambda conn: str(conn.execute(sa.select(api_keys)).all()))
    assert "the-secret" not in stored
    assert (await store.read(lambda conn: by_secret(conn, "acm_abcdefgh-the-secret"))).id == KEY.id
    assert await store.read(lambda conn: by_secret(conn, "acm_abcdefgh-another")) is None


async def test_a_key_knows_when_it_was_made(store: Store):
    made_at = await store.of(ORG).write(lambda tx: tx.api_keys.add(KEY, "s") or tx.at)

    (key,) = await store.of(ORG).read(lambda tx: tx.api_keys.all())

    assert key.created_at == made_at > 0


async def test_a_revoked_key_is_valid_no_longer_and_can_be_revoked_once(store: Store):
    await store.of(ORG).write(lambda tx: tx.api_keys.add(KEY, "s"))
    assert await store.read(any_exist)

    revoked = [await store.of(ORG).write(lambda tx: tx.api_keys.revoke("key_1")) for _ in range(2)]

    key = await store.read(lambda conn: by_secret(conn, "s"))
    assert revoked == [True, False]
    assert not key.valid_at(Millis(1))
    assert not await store.read(any_exist)


def test_a_key_is_valid_until_it_expires():
    key = ApiKey("k", ORG, "n", "agent", "", Millis(0), Millis(1_000), None)

    assert key.valid_at(Millis(999))
    assert not key.valid_at(Millis(1_000))


async def test_of_two_who_change_the_configuration_at_once_one_hears_of_it(org_store: OrgStore):
    seen = (await org_store.read(lambda tx: tx.orgs.get_config())).version
    await org_store.write(lambda tx: tx.orgs.set_config({"window_size": 3}, seen))

    with pytest.raises(Conflict):
        await org_store.write(lambda tx: tx.orgs.set_config({"window_size": 4}, seen))

    assert (await org_store.read(lambda tx: tx.orgs.get_config())).config == {"window_size": 3}
