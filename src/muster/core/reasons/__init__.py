"""Why Muster did what it did, or said nothing. Events, refusals, logs, metrics and the docs use no other words."""

from muster.core.reasons.decisions import Kind, Reason
from muster.core.reasons.events import EventReason
from muster.core.reasons.silences import SilenceReason

__all__ = ["EventReason", "Kind", "Reason", "SilenceReason"]
