"""Kubeconfig files with embedded certificates, so that they can be copied."""

from __future__ import annotations

import base64
from pathlib import Path
from typing import Any

import yaml

from local_cluster.certificates import KeyPair


def certificate_user(pair: KeyPair) -> dict[str, str]:
    return {
        "client-certificate-data": _encoded(pair.certificate),
        "client-key-data": _encoded(pair.key),
    }


def token_user(token: str) -> dict[str, str]:
    return {"token": token}


def rendered_kubeconfig(cluster: str, server: str, authority: Path, user: dict[str, str]) -> str:
    content: dict[str, Any] = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [
            {"name": cluster, "cluster": {"server": server, "certificate-authority-data": _encoded(authority)}}
        ],
        "users": [{"name": cluster, "user": user}],
        "contexts": [{"name": cluster, "context": {"cluster": cluster, "user": cluster, "namespace": "default"}}],
        "current-context": cluster,
    }
    return yaml.safe_dump(content, sort_keys=False)


def write_private(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.touch(mode=0o600)
    path.write_text(text)


def _encoded(path: Path) -> str:
    return base64.b64encode(path.read_bytes()).decode()
