"""Alerts: what is wrong with what we observe, and what was sent about it."""

from typing import Any, Literal, Optional

from pydantic import Field

from acumen_client.wire.shapes import AnswerModel, Done, HowMany, RequestModel


class DeliveryView(AnswerModel):
    """One message to the webhook; `waiting` ones are retried."""

    delivery_id: str
    event: str
    state: Literal["waiting", "sent", "failed"]
    attempts: int = 0
    status_code: Optional[int] = None
    last_error: Optional[str] = None
    created_at: int
    updated_at: int


class AlertView(AnswerModel):
    """Open until a later check no longer finds the problem."""

    alert_id: str
    kind: Literal["source_silent", "group_escalating", "analysis_failing", "learning_late", "backup_failing"]
    subject: str
    said: str
    opened_at: int
    closed_at: Optional[int] = None
    detail: dict[str, Any] = Field(default_factory=dict)
    deliveries: list[DeliveryView] = Field(default_factory=list)


class GetAlertsRequest(RequestModel):
    """Latest first."""

    include_closed: bool = False
    limit: HowMany = 100


class GetAlertsResponse(Done):
    alerts: list[AlertView] = Field(default_factory=list)
