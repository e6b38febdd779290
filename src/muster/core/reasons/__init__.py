"""The reasons for what Muster did or did not do. Events, refusals, logs, metrics and docs share them."""

from muster.core.reasons.decisions import Reason, ReasonKind
from muster.core.reasons.events import EventReason
from muster.core.reasons.silences import SilenceReason

__all__ = ["EventReason", "Reason", "ReasonKind", "SilenceReason"]
