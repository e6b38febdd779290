import base64
from pathlib import Path

import yaml
from cryptography import x509

from local_cluster.certificates import CertificateAuthority, KeyPair
from local_cluster.configuration import audit_policy
from local_cluster.kubeconfig import certificate_user, rendered_kubeconfig, token_user


def test_a_kubeconfig_holds_all_that_a_client_needs(tmp_path: Path) -> None:
    CertificateAuthority(tmp_path).issue_client("admin", "admin", "system:masters")
    pair = KeyPair.at(tmp_path, "admin")
    content = yaml.safe_load(
        rendered_kubeconfig("muster", "https://127.0.0.1:1", tmp_path / "ca.crt", certificate_user(pair))
    )
    assert content["current-context"] == content["contexts"][0]["name"]
    cluster, user = content["clusters"][0]["cluster"], content["users"][0]["user"]
    assert cluster["server"] == "https://127.0.0.1:1"
    assert base64.b64decode(cluster["certificate-authority-data"]) == (tmp_path / "ca.crt").read_bytes()
    assert base64.b64decode(user["client-key-data"]) == pair.key.read_bytes()


def test_a_token_takes_the_place_of_a_certificate(tmp_path: Path) -> None:
    CertificateAuthority(tmp_path)
    content = yaml.safe_load(rendered_kubeconfig("c", "https://127.0.0.1:1", tmp_path / "ca.crt", token_user("secret")))
    assert content["users"][0]["user"] == {"token": "secret"}


def test_a_client_certificate_names_user_and_group(tmp_path: Path) -> None:
    CertificateAuthority(tmp_path).issue_client("kwok", "kwok", "system:masters")
    certificate = x509.load_pem_x509_certificate((tmp_path / "kwok.crt").read_bytes())
    assert certificate.subject.rfc4514_string() == "CN=kwok,O=system:masters"


def test_private_keys_are_private(tmp_path: Path) -> None:
    CertificateAuthority(tmp_path).issue_serving("server")
    assert {path.stat().st_mode & 0o777 for path in tmp_path.glob("*.key")} == {0o600}


def test_the_audit_policy_leaves_out_no_write() -> None:
    left_out = [rule for rule in audit_policy()["rules"] if rule["level"] == "None" and "nonResourceURLs" not in rule]
    assert {verb for rule in left_out for verb in rule["verbs"]} == {"get", "list", "watch"}
