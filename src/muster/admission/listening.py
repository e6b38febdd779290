"""Opening and closing the ports."""

import ssl
from dataclasses import dataclass
from typing import NamedTuple

import aiohttp
from aiohttp import web

from muster.admission.certificates import ServingCertificate

IN_FLIGHT_SECONDS = 5
ASKING = aiohttp.ClientTimeout(total=5)
ANYWHERE = {"0.0.0.0": "127.0.0.1", "::": "::1", "": "127.0.0.1"}  # noqa: S104 - compared with, not bound to


class Place(NamedTuple):
    host: str
    port: int

    @property
    def url(self) -> str:
        host = ANYWHERE.get(self.host, self.host)
        return f"https://{f'[{host}]' if ':' in host else host}:{self.port}"


@dataclass(frozen=True, slots=True)
class Listening:
    runner: web.AppRunner
    place: Place

    @property
    def port(self) -> int:
        return self.place.port

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
    return Listening(runner, Place(host, runner.addresses[0][1]))


async def ask(place: Place, name: str, certificate: ServingCertificate) -> str:
    """What is wrong with the answer there, met as the API server meets it: by that name, trusting those authorities."""
    trust = ssl.create_default_context(cadata=certificate.authority.decode())
    connector = aiohttp.TCPConnector(ssl=trust, force_close=True)
    try:
        async with (
            aiohttp.ClientSession(connector=connector, timeout=ASKING) as session,
            session.get(f"{place.url}/livez", server_hostname=name) as answer,
        ):
            return "" if answer.status == web.HTTPOk.status_code else f"it answers {answer.status}"
    except (aiohttp.ClientError, OSError, TimeoutError) as error:
        return " ".join(str(error).split()) or type(error).__name__
