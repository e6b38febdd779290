"""Opening and closing the ports."""

import ssl
from dataclasses import dataclass

import aiohttp
from aiohttp import web

from muster.admission.certificates import ServingCertificate

IN_FLIGHT_SECONDS = 5
ASKING = aiohttp.ClientTimeout(total=5)
ANYWHERE = {"0.0.0.0": "127.0.0.1", "::": "::1", "": "127.0.0.1"}  # noqa: S104 - compared with, not bound to


@dataclass(frozen=True, slots=True)
class Listening:
    runner: web.AppRunner
    host: str
    port: int

    async def stop(self) -> None:
        """No new connection; requests in flight are finished."""
        await self.runner.cleanup()


async def listen(app: web.Application, host: str, port: int, context: ssl.SSLContext | None = None) -> Listening:
    runner = web.AppRunner(app, access_log=None, keepalive_timeout=300, shutdown_timeout=IN_FLIGHT_SECONDS)
    await runner.setup()
    site = web.TCPSite(runner, host, port, ssl_context=context)
    try:
        await site.start()
    except OSError:
        await runner.cleanup()
        raise
    return Listening(runner, host, runner.addresses[0][1])


async def ask_self(listening: Listening, name: str, certificate: ServingCertificate) -> str:
    """What is wrong with our own answer, met as the API server meets it: by that name, trusting those authorities."""
    trust = ssl.create_default_context(cadata=certificate.authority.decode())
    host = ANYWHERE.get(listening.host, listening.host)
    url = f"https://{f'[{host}]' if ':' in host else host}:{listening.port}/livez"
    connector = aiohttp.TCPConnector(ssl=trust, force_close=True)
    try:
        async with (
            aiohttp.ClientSession(connector=connector, timeout=ASKING) as session,
            session.get(url, server_hostname=name) as answer,
        ):
            return "" if answer.status == web.HTTPOk.status_code else f"it answers {answer.status}"
    except (aiohttp.ClientError, OSError, TimeoutError) as error:
        return " ".join(str(error).split()) or type(error).__name__
