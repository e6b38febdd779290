"""What this replica shares with the others: the Lease, and the agreement on a profile that the Lease holds."""

import os
import socket

from muster.app.modes import InCluster, ServingMode
from muster.config.types import Settings
from muster.controllers.profile.agreement import Agreement, LeaseAgreement, OwnAgreement
from muster.core.election import Terms
from muster.kube.client import KubeClient
from muster.runtime.leader_election import Alone, Lead, Leadership
from muster.runtime.metrics import Metrics


def identity() -> str:
    """The identity of this replica in the Lease."""
    return os.environ.get("POD_NAME") or f"{socket.gethostname()}-{os.getpid()}"


def lead_of(mode: ServingMode, client: KubeClient, settings: Settings, metrics: Metrics) -> Lead:
    """Leader election runs only in a cluster: --dev and a certificate from the command line mean a single replica."""
    chosen = settings.leadership
    if not isinstance(mode, InCluster) or not chosen.enabled:
        metrics.leader.set(1)
        return Alone()
    terms = Terms(identity(), chosen.duration_seconds, chosen.renew_seconds)
    return Leadership(client, settings.service.namespace, chosen.lease_name, terms, metrics)


def agreement_of(lead: Lead, client: KubeClient, settings: Settings) -> Agreement:
    if isinstance(lead, Alone):
        return OwnAgreement()
    return LeaseAgreement(client, settings.service.namespace, settings.leadership.lease_name)
