"""A user's mistake ends the command at once, in one clear sentence: no traceback, no log line, a non-zero exit code."""

import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

MUSTER = str(Path(sys.executable).parent / "muster")
NOT_BASE64_OF_A_CERTIFICATE = "Z2FyYmFnZQ=="

UNREADABLE_FILES = {
    "is not YAML": (b": : [\n - {", "while parsing"),
    "is not text": (b"\xff\xfe\x00\x01", "codec can't decode"),
    "is empty": (b"", "empty"),
    "is a list": (b"[1, 2]", "not a kubeconfig"),
    "is a sentence": (b"just a sentence", "not a kubeconfig"),
    "is another kind of file": (b"kind: Pod\n", "Invalid kube-config"),
}
UNUSABLE_CONFIGS: dict[str, tuple[dict[str, Any], str]] = {
    "has a server that is no URL": ({"server": "not a url"}, "not an http or https URL"),
    "has a server that is no web address": ({"server": "ftp://127.0.0.1"}, "not an http or https URL"),
    "has a CA that is no certificate": (
        {"certificate-authority-data": NOT_BASE64_OF_A_CERTIFICATE},
        "the certificate authority cannot be read",
    ),
    "names a CA file that does not exist": ({"certificate-authority": "/nonexistent/ca.crt"}, "/nonexistent/ca.crt"),
}
BAD_ARGUMENTS = {
    "an unknown flag": (["run", "--dev", "--frobnicate"], "--frobnicate"),
    "an unknown command": (["frobnicate"], "frobnicate"),
    "an argument too many": (["run", "--dev", "surplus"], "surplus"),
    "a flag without its value": (["run", "--dev", "--kubeconfig"], "--kubeconfig"),
    "a port above the highest": (["run", "--dev", "--port", "65536"], "--port"),
    "a negative port": (["run", "--dev", "--port", "-1"], "--port"),
    "a port that is no number": (["run", "--dev", "--port", "https"], "--port"),
    "an unknown log level": (["run", "--dev", "--log-level", "loud"], "debug, info, warning, error"),
}


@pytest.mark.parametrize("problem", BAD_ARGUMENTS)
def test_bad_arguments_end_in_one_sentence(problem: str) -> None:
    arguments, names = BAD_ARGUMENTS[problem]
    assert names in complaint(*arguments)


@pytest.mark.parametrize("problem", UNREADABLE_FILES)
def test_a_kubeconfig_that_cannot_be_read_ends_in_one_sentence(problem: str, tmp_path: Path) -> None:
    content, why = UNREADABLE_FILES[problem]
    file = tmp_path / "kubeconfig"
    file.write_bytes(content)
    said = complaint("run", "--dev", "--kubeconfig", str(file))
    assert str(file) in said
    assert why in said


@pytest.mark.parametrize("problem", UNUSABLE_CONFIGS)
def test_a_kubeconfig_that_cannot_be_used_ends_in_one_sentence(problem: str, tmp_path: Path) -> None:
    cluster, why = UNUSABLE_CONFIGS[problem]
    file = write_kubeconfig(tmp_path, cluster)
    said = complaint("run", "--dev", "--kubeconfig", str(file))
    assert str(file) in said
    assert why in said


def test_an_invalid_client_certificate_ends_in_one_sentence(tmp_path: Path) -> None:
    bad = {
        "client-certificate-data": NOT_BASE64_OF_A_CERTIFICATE,
        "client-key-data": NOT_BASE64_OF_A_CERTIFICATE,
    }
    file = write_kubeconfig(tmp_path, {}, user=bad)
    assert "the client certificate cannot be read" in complaint("run", "--dev", "--kubeconfig", str(file))


def test_a_kubeconfig_that_does_not_exist_ends_in_one_sentence(tmp_path: Path) -> None:
    missing = str(tmp_path / "nowhere")
    said = complaint("run", "--dev", "--kubeconfig", missing)
    assert missing in said
    assert "no such file" in said


def test_a_directory_as_kubeconfig_ends_in_one_sentence(tmp_path: Path) -> None:
    said = complaint("run", "--dev", "--kubeconfig", str(tmp_path))
    assert str(tmp_path) in said
    assert "directory" in said


def test_an_unknown_context_ends_in_one_sentence(tmp_path: Path) -> None:
    file = write_kubeconfig(tmp_path, {})
    assert "elsewhere" in complaint("run", "--dev", "--kubeconfig", str(file), "--context", "elsewhere")


def test_a_port_in_use_ends_in_one_sentence(tmp_path: Path) -> None:
    file = write_kubeconfig(tmp_path, {})
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        said = complaint("run", "--dev", "--kubeconfig", str(file), "--port", str(port))
    assert f"127.0.0.1:{port}" in said
    assert "in use" in said


def test_without_arguments_muster_shows_the_help_and_no_error() -> None:
    done = subprocess.run([MUSTER], capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode != 0
    assert "Usage: muster" in done.stdout + done.stderr
    assert "muster: " not in done.stdout + done.stderr


def complaint(*arguments: str) -> str:
    """The one sentence that Muster ends with."""
    done = subprocess.run([MUSTER, *arguments], capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode != 0
    assert done.stdout == ""
    (line,) = done.stderr.splitlines()
    assert line.startswith("muster: ")
    return line


def write_kubeconfig(folder: Path, cluster: dict[str, Any], user: dict[str, Any] | None = None) -> Path:
    """Complete but for what `cluster` and `user` override. Nothing listens at its server."""
    config = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "here", "cluster": {"server": "https://127.0.0.1:1", **cluster}}],
        "users": [{"name": "me", "user": {"token": "secret"} if user is None else user}],
        "contexts": [{"name": "here", "context": {"cluster": "here", "user": "me"}}],
        "current-context": "here",
    }
    file = folder / "kubeconfig"
    file.write_text(yaml.safe_dump(config))
    return file
