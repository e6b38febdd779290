"""`muster run`: reads the flags and the settings, and starts the process."""

import gc
from dataclasses import dataclass
from pathlib import Path

import uvloop

from muster.app.failure import Failure, Misuse
from muster.app.modes import Dev, InCluster, ServingMode, StaticCertificate
from muster.app.process import serve
from muster.cli.config import read_settings
from muster.cli.logs import log_to_stderr
from muster.config.types import Settings
from muster.kube.credentials import NoCredentials, load_credentials
from muster.serving.tls import ClientCA

LOOPBACK = "127.0.0.1"
LEVELS = ("debug", "info", "warning", "error")


@dataclass(frozen=True, slots=True)
class ServingOptions:
    """The flags about serving admission."""

    dev: bool
    """Serve on loopback, with a temporary certificate and webhooks that exist only while the process runs."""
    address: str | None
    port: int | None
    certificate: Path | None
    key: Path | None


@dataclass(frozen=True, slots=True)
class Options:
    config: Path | None
    kubeconfig: Path | None
    context: str | None
    serving: ServingOptions
    log_level: str | None


def run(options: Options) -> None:
    settings = _settings(options)
    mode = _mode(options.serving, settings)
    log_to_stderr(settings.logging)
    try:
        credentials = load_credentials(options.kubeconfig, options.context)
    except NoCredentials as problem:
        raise Failure(str(problem)) from problem
    _import_all()
    uvloop.run(serve(mode, credentials, settings))


def _import_all() -> None:
    """Import everything before the event loop starts: kopf takes a tenth of a second.

    It also freezes the imported modules for the garbage collector. A full collection that includes them blocked the
    loop for 62 to 88 ms.
    """
    import muster.watching.thread  # noqa: F401

    gc.collect()
    gc.freeze()


def _settings(options: Options) -> Settings:
    """The settings of the file, overridden by the flags."""
    level = options.log_level.lower() if options.log_level is not None else None
    if level is not None and level not in LEVELS:
        raise Misuse(f"--log-level is one of {', '.join(LEVELS)}, not {options.log_level!r}")
    settings, serving = read_settings(options.config), options.serving
    changes: dict[str, object] = {}
    if serving.dev:
        changes = {"address": LOOPBACK, "port": 0, "health_port": 0, "drain_seconds": 0.0}
    elif serving.certificate is not None and options.config is None:
        changes = {"health_port": 0}
    changes |= {
        name: value for name, value in (("address", serving.address), ("port", serving.port)) if value is not None
    }
    return settings.model_copy(
        update={
            "serving": settings.serving.model_copy(update=changes),
            "logging": settings.logging.model_copy(update={"level": level} if level else {}),
        }
    )


def _mode(serving: ServingOptions, settings: Settings) -> ServingMode:
    client_ca = _client_ca(settings.serving.client_ca)
    if serving.dev:
        return Dev.make(settings, client_ca)
    if serving.certificate is None and serving.key is None:
        return InCluster.make(settings, client_ca)
    if serving.certificate is None or serving.key is None:
        raise Misuse("--tls-certificate and --tls-key must be set together")
    return StaticCertificate.read(serving.certificate, serving.key, client_ca)


def _client_ca(file: str) -> ClientCA | None:
    try:
        return ClientCA(Path(file)) if file else None
    except OSError as error:  # an SSLError is an OSError, too
        raise Failure(f"cannot use {file} as serving.clientCA: {error.strerror or error}") from error
