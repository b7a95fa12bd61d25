"""Send an alert to the webhook: signed, retried for half a day, every attempt recorded."""

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
    """`t=…,v1=…`: an HMAC over time and body, so that a receiver can refuse changed and old messages."""
    signed = hmac.new(secret.encode(), b"%d.%s" % (at_seconds, body), hashlib.sha256).hexdigest()
    return f"t={at_seconds},v1={signed}"


async def deliver(event: Alerted, deps: Deps) -> None:
    """Sent when the reply is 2xx; otherwise retried later."""
    delivery = await deps.store.read(lambda tx: tx.alerts.get_delivery(event.delivery_id))
    if delivery is None or delivery.state is not DeliveryState.WAITING or not deps.settings.alerts.webhook_url:
        return
    code, problem = await _post(delivery, deps)
    after = _after(delivery, code, problem)
    if problem:
        log.warning("webhook delivery of alert %s failed (attempt %s): %s", delivery.alert_id, after.attempts, problem)

    def store(tx: Tx) -> None:
        tx.alerts.update_delivery(after)
        if after.state is DeliveryState.WAITING:
            tx.jobs.add(event, Millis(tx.at + 1000 * _wait_seconds(after.attempts)))

    await deps.store.write(store)


async def _post(delivery: Delivery, deps: Deps) -> tuple[int | None, str | None]:
    """The status code and the problem. Neither contains the URL or the secret."""
    settings, body = deps.settings.alerts, delivery.body.encode()
    headers = {
        "Content-Type": "application/json",
        "Acumen-Delivery": delivery.id,
        SIGNATURE: signature(settings.webhook_secret, deps.now() // 1000, body),
    }
    import httpx  # noqa: PLC0415 - slow to import, and most servers have no webhook

    logging.getLogger("httpx").setLevel(logging.WARNING)  # it would log the URL, which may contain a secret
    try:
        async with (
            httpx.AsyncClient(timeout=TIMEOUT_SECONDS, trust_env=False, follow_redirects=False) as http,
            http.stream("POST", settings.webhook_url, content=body, headers=headers) as reply,
        ):
            code = reply.status_code
    except (httpx.HTTPError, httpx.InvalidURL, OSError) as error:
        return None, f"no answer ({type(error).__name__})"
    return code, None if 200 <= code < 300 else f"answered with status {code}"


def _after(delivery: Delivery, code: int | None, problem: str | None) -> Delivery:
    attempts = delivery.attempts + 1
    if problem is None:
        state = DeliveryState.SENT
    else:
        state = DeliveryState.FAILED if attempts >= ATTEMPTS else DeliveryState.WAITING
    return replace(delivery, state=state, attempts=attempts, status_code=code, last_error=problem)


def _wait_seconds(attempts: int) -> int:
    return int(min(FIRST_WAIT_SECONDS * 2 ** (attempts - 1), LONGEST_WAIT_SECONDS))
