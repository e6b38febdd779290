"""Every command through its process: 0 done, 1 failed, 2 not understood, 130 interrupted; and never a traceback."""

import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import yaml

from muster.cli.main import main

BIN = Path(sys.executable).parent
MUSTER, PLUGIN, MODULE = [str(BIN / "muster")], [str(BIN / "kubectl-muster")], [sys.executable, "-m", "muster"]
DONE, FAILED, USAGE, INTERRUPTED = 0, 1, 2, 130


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("commands")
    (made / "good.yaml").write_text("workers: 8\n")
    (made / "bad.yaml").write_text("worker: 8\n")
    (made / "binary.yaml").write_bytes(bytes(range(256)))
    with socket.create_server(("127.0.0.1", 0)) as nobody:
        port = nobody.getsockname()[1]
    write_kubeconfig(made / "dead", port)
    return made


def write_kubeconfig(path: Path, port: int) -> Path:
    """Of a server on loopback, without TLS."""
    named = {"name": "it"}
    content = {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "it",
        "clusters": [{**named, "cluster": {"server": f"http://127.0.0.1:{port}"}}],
        "users": [{**named, "user": {"token": "t"}}],
        "contexts": [{**named, "context": {"cluster": "it", "user": "it"}}],
    }
    path.write_text(yaml.safe_dump(content))
    return path


def begin(folder: Path, arguments: list[str], program: list[str] = MUSTER) -> subprocess.Popen[str]:
    environment = {**os.environ, "KUBECONFIG": "/nonexistent", "HOME": "/nonexistent", "COLUMNS": "200"}
    return subprocess.Popen(
        [*program, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment, cwd=folder
    )


def end(process: subprocess.Popen[str], seconds: float = 60) -> tuple[int, str, str]:
    try:
        out, err = process.communicate(timeout=seconds)
    finally:
        process.kill()
    assert "Traceback" not in out + err, err
    return process.returncode, out, err


CASES: dict[str, tuple[str, int, str]] = {
    "the version": ("version", DONE, ""),
    "the version of something": ("version it", USAGE, "(it)"),
    "help": ("--help", DONE, ""),
    "nothing": ("", USAGE, ""),
    "no such command": ("nonsense", USAGE, "No such command 'nonsense'"),
    "no such flag": ("--nonsense", USAGE, "No such option: --nonsense"),
    "help about run": ("run --help", DONE, ""),
    "run with settings that are not there": ("run --config none.yaml", FAILED, "No such file"),
    "run with settings that are wrong": ("run --config bad.yaml", FAILED, "unknown key; did you mean workers?"),
    "run without a kubeconfig": ("run --kubeconfig none", FAILED, "cannot log in with none: there is no such file"),
    "run with a wrong port": ("run --port 99999", USAGE, "--port"),
    "run with no such log level": ("run --log-level loud", USAGE, "--log-level is one of"),
    "run with half a certificate": ("run --tls-certificate good.yaml", USAGE, "must be set together"),
    "run with a certificate that is none": (
        "run --tls-certificate good.yaml --tls-key good.yaml --kubeconfig dead",
        FAILED,
        "cannot serve with good.yaml",
    ),
    "run on an address that is not ours": (
        "run --kubeconfig dead --address 192.0.2.1",
        FAILED,
        "cannot serve health on 192.0.2.1:8080",
    ),
    "help about leave": ("leave --help", DONE, ""),
    "leave without a kubeconfig": ("leave --kubeconfig none", FAILED, "there is no such file"),
    "leave with settings that are wrong": ("leave --config bad.yaml --kubeconfig dead", FAILED, "unknown key"),
    "leave with a wait that is none": ("leave --wait long", USAGE, "--wait"),
    "leave a cluster that does not answer": ("leave --kubeconfig dead", FAILED, "does not answer"),
    "leave it only to look": ("leave --dry-run --dev --kubeconfig dead", FAILED, "does not answer"),
    "crds alone": ("crds", USAGE, ""),
    "print the CRDs": ("crds print", DONE, ""),
    "print CRDs of no group": ("crds print --group batch", USAGE, "--group"),
    "install CRDs without a kubeconfig": ("crds install --kubeconfig none", FAILED, "there is no such file"),
    "install CRDs where nobody answers": ("crds install --kubeconfig dead", FAILED, "does not answer"),
    "install CRDs of no group": ("crds install --group batch", USAGE, "--group"),
    "install CRDs of no context": ("crds install --kubeconfig dead --context x", FAILED, "cannot log in with dead"),
    "uninstall CRDs where nobody answers": ("crds uninstall --yes --kubeconfig dead", FAILED, "does not answer"),
    "uninstall CRDs of no group": ("crds uninstall --group batch", USAGE, "--group"),
    "config alone": ("config", USAGE, ""),
    "check good settings": ("config check good.yaml", DONE, ""),
    "check wrong settings": ("config check bad.yaml", FAILED, "1 error in bad.yaml"),
    "check what is no text": ("config check binary.yaml", FAILED, "is not YAML"),
    "check a directory": ("config check .", FAILED, "Is a directory"),
    "check nothing": ("config check", USAGE, "Missing argument"),
    "print the settings": ("config print", DONE, ""),
    "print wrong settings": ("config print bad.yaml", FAILED, "1 error in bad.yaml"),
}


@pytest.mark.parametrize("what", CASES)
def test_each_command_ends_with_its_code_and_one_sentence(folder: Path, what: str) -> None:
    arguments, code, says = CASES[what]
    ended, _, err = end(begin(folder, arguments.split()))
    assert (ended, says in err) == (code, True), err
    assert code == DONE or not says or err.startswith("muster: ")
    assert bool(err) == bool(says), "what is done says nothing on stderr"


@pytest.mark.parametrize("program", [PLUGIN, MODULE], ids=["kubectl-muster", "python -m muster"])
@pytest.mark.parametrize("what", ["the version", "leave a cluster that does not answer", "crds alone", "no such flag"])
def test_each_program_name_gives_the_same_exit_codes(folder: Path, program: list[str], what: str) -> None:
    arguments, code, says = CASES[what]
    ended, _, err = end(begin(folder, arguments.split(), program))
    assert (ended, says in err) == (code, True), err


def test_a_server_that_refuses_connections_is_given_up_at_once(folder: Path) -> None:
    began = time.monotonic()
    assert end(begin(folder, ["leave", "--kubeconfig", "dead"]))[0] == FAILED
    assert time.monotonic() - began < 10, "most of it is the start of Python"


@pytest.mark.parametrize("command", ["crds print", "config print", "version"])
def test_output_that_cannot_be_written_is_an_error(folder: Path, command: str) -> None:
    with Path("/dev/full").open("w") as full:
        done = subprocess.run([*MUSTER, *command.split()], stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert (done.returncode, done.stderr) == (FAILED, "muster: [Errno 28] No space left on device\n")
    reading, writing = os.pipe()
    os.close(reading)
    done = subprocess.run([*MUSTER, *command.split()], stdout=writing, stderr=subprocess.PIPE, text=True, check=False)
    os.close(writing)
    assert (done.returncode, done.stderr) == (FAILED, "")


@contextmanager
def answering(answer: bytes | None, asked: threading.Event | None = None) -> Iterator[int]:
    """A server that gives every request the same bytes; none: it never answers."""
    with socket.create_server(("127.0.0.1", 0), backlog=64) as server:
        threading.Thread(target=_accept, args=(server, answer, asked), daemon=True).start()
        yield server.getsockname()[1]
        server.shutdown(socket.SHUT_RDWR)


def _accept(server: socket.socket, answer: bytes | None, asked: threading.Event | None) -> None:
    open_ones = []
    while True:
        try:
            connection, _ = server.accept()
        except OSError:
            return
        open_ones.append(connection)
        if asked is not None:
            asked.set()
        if answer is not None:
            connection.recv(65536)
            connection.sendall(answer)
            connection.close()


@pytest.mark.parametrize("command", ["leave --wait 0", "crds install", "crds uninstall --yes"])
def test_an_interrupt_exits_with_130(folder: Path, command: str) -> None:
    asked = threading.Event()
    with answering(None, asked) as port:
        path = write_kubeconfig(folder / "silent", port)
        process = begin(folder, [*command.split(), "--kubeconfig", str(path)])
        assert asked.wait(60)
        process.send_signal(signal.SIGINT)
        code, _, err = end(process)
    assert (code, err) == (INTERRUPTED, "")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_stopped_muster_run_exits_with_0(folder: Path, number: signal.Signals) -> None:
    process = begin(folder, ["run", "--dev", "--kubeconfig", "dead"])
    assert process.stderr is not None
    assert any("not ready: " in line for line in process.stderr)
    process.send_signal(number)
    assert end(process)[0] == DONE


def http(body: bytes, status: str = "200 OK", kind: str = "application/json") -> bytes:
    head = f"HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {len(body)}\r\nConnection: close\r\n\r\n"
    return head.encode() + body


GARBAGE: dict[str, bytes] = {
    "a page of a proxy": http(b"<html>Welcome</html>", kind="text/html"),
    "a list": http(b"[]"),
    "an empty object": http(b"{}"),
    "items that are a number": http(b'{"items": 5, "metadata": {"uid": "u"}}'),
    "items that are numbers": http(b'{"items": [5], "metadata": 7, "spec": "x"}'),
    "metadata that is text": http(b'{"metadata": "x", "items": [{"metadata": "y"}], "webhooks": 3}'),
    "text that is no UTF-8": http(b'{"metadata": "\xff"}'),
    "nested deeply": http(b"[" * 100_000),
    "less than it promised": http(b"{}" * 50)[:-20],
    "an error without a body": http(b"", "500 Internal Server Error"),
    "an error with odd details": http(b'{"details": "x", "message": {"a": 1}}', "403 Forbidden"),
    "odd causes": http(b'{"details": {"causes": [1, null]}, "message": null}', "403 Forbidden"),
    "somewhere else": http(b"", "302 Found\r\nLocation: /"),
    "no HTTP at all": b"SSH-2.0-OpenSSH_9.2\r\n",
    "nothing": b"",
}


COULD_BE = {"an empty object", "items that are a number", "items that are numbers", "metadata that is text"}
"""A command that does not read the objects finds nothing wrong with them."""
COMMANDS = ["leave --wait 0", "crds install", "crds uninstall --yes"]


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("what", GARBAGE)
def test_a_malformed_answer_is_one_sentence(
    folder: Path, command: str, what: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """In this process, for there are many; one of them in its own, below."""
    with answering(GARBAGE[what]) as port:
        path = write_kubeconfig(folder / "garbage", port)
        monkeypatch.setattr(sys, "argv", ["muster", *command.split(), "--kubeconfig", str(path)])
        with pytest.raises(SystemExit) as ended:
            main()
    err = capsys.readouterr().err
    assert ended.value.code == FAILED or what in COULD_BE, err
    assert err or ended.value.code != FAILED
    assert all(line.startswith("muster: ") for line in err.splitlines())


@pytest.mark.parametrize("command", COMMANDS)
def test_a_malformed_answer_is_one_sentence_of_the_process_too(folder: Path, command: str) -> None:
    with answering(GARBAGE["a list"]) as port:
        path = write_kubeconfig(folder / "garbage", port)
        code, _, err = end(begin(folder, [*command.split(), "--kubeconfig", str(path)]))
    assert code == FAILED
    assert err.startswith("muster: ")
