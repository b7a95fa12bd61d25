"""Tells the owner's webhook of an alert: signed, tried again for half a day, and each try written down."""

import hashlib
import hmac
import logging

from msgspec.structs import replace

from acumen.deps import Deps
from acumen.model.ids import Millis
from acumen.model.jobs.events import Alerted
from acumen.model.operations.alert import Delivery, DeliveryState
from acumen.storage.store import Tx

log = logging.getLogger(__name__)

SIGNATURE = "Acumen-Signature"
TIMEOUT_SECONDS = 10.0
ATTEMPTS = 15
FIRST_WAIT_SECONDS, LONGEST_WAIT_SECONDS = 5, 3_600


def signature(secret: str, at_seconds: int, body: bytes) -> str:
    """`t=…,v1=…`: an HMAC over time and body, so that neither can be changed or sent again much later."""
    signed = hmac.new(secret.encode(), b"%d.%s" % (at_seconds, body), hashlib.sha256).hexdigest()
    return f"t={at_seconds},v1={signed}"


async def deliver(event: Alerted, deps: Deps) -> None:
    """Sent once it is answered with 2xx. Whatever else comes, it is tried again later."""
    delivery = await deps.store.read(lambda tx: tx.alerts.get_delivery(event.delivery_id))
    if delivery is None or delivery.state is not DeliveryState.WAITING or not deps.settings.alerts.webhook_url:
        return
    code, wrong = await _post(delivery, deps)
    after = _after(delivery, code, wrong)
    if wrong:
        log.warning("alert %s was not taken by the webhook (try %s): %s", delivery.alert_id, after.attempts, wrong)

    def store(tx: Tx) -> None:
        tx.alerts.update_delivery(after)
        if after.state is DeliveryState.WAITING:
            tx.jobs.add(event, Millis(tx.at + 1000 * _wait_seconds(after.attempts)))

    await deps.store.write(store)


async def _post(delivery: Delivery, deps: Deps) -> tuple[int | None, str | None]:
    """The status, and what is wrong. Neither address nor secret is told: both are the owner's."""
    settings, body = deps.settings.alerts, delivery.body.encode()
    headers = {
        "Content-Type": "application/json",
        "Acumen-Delivery": delivery.id,
        SIGNATURE: signature(settings.webhook_secret, deps.now() // 1000, body),
    }
    import httpx  # noqa: PLC0415 - a server without a webhook need not wait for it to load

    logging.getLogger("httpx").setLevel(logging.WARNING)  # it would tell the address, which may hold a secret
    try:
        async with (
            httpx.AsyncClient(timeout=TIMEOUT_SECONDS, trust_env=False, follow_redirects=False) as http,
            http.stream("POST", settings.webhook_url, content=body, headers=headers) as reply,
        ):
            code = reply.status_code
    except (httpx.HTTPError, httpx.InvalidURL, OSError) as error:
        return None, f"no answer ({type(error).__name__})"
    return code, None if 200 <= code < 300 else f"answered with status {code}"


def _after(delivery: Delivery, code: int | None, wrong: str | None) -> Delivery:
    attempts = delivery.attempts + 1
    if wrong is None:
        state = DeliveryState.SENT
    else:
        state = DeliveryState.FAILED if attempts >= ATTEMPTS else DeliveryState.WAITING
    return replace(delivery, state=state, attempts=attempts, status_code=code, last_error=wrong)


def _wait_seconds(attempts: int) -> int:
    return int(min(FIRST_WAIT_SECONDS * 2 ** (attempts - 1), LONGEST_WAIT_SECONDS))
