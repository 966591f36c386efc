"""What SASL takes from outside of the connections: files of users, keys of tokens, credentials of SCRAM.

Every source is read once at the start, where a mistake is a BadSetting. Then it is checked for changes in the
background, and what was read stays if it cannot be used.
"""

import asyncio
import json
import logging
from collections.abc import Mapping
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

import aiohttp
from joserfc.errors import JoseError
from joserfc.jwk import KeySet

from kafka_reassign_rpc.security.authenticator import MakeAuthenticator
from kafka_reassign_rpc.security.properties import BadSetting
from kafka_reassign_rpc.security.sasl import scram
from kafka_reassign_rpc.security.sasl.hashed_users import MOST_BYTES, HashedUsers, parse_users
from kafka_reassign_rpc.security.sasl.kerberos import GssapiSaslServer, KerberosIdentity
from kafka_reassign_rpc.security.sasl.mechanism import MakeSaslServer
from kafka_reassign_rpc.security.sasl.oauthbearer import LEAST_RSA_BITS, OAuthBearerSaslServer, TokenKeys, is_weak
from kafka_reassign_rpc.security.sasl.plain import PlainPasswords, PlainSaslServer, UsersOf
from kafka_reassign_rpc.security.sasl.sasl_authenticator import SaslAuthenticator, SaslSettings
from kafka_reassign_rpc.security.sasl.sasl_config import GSSAPI, OAUTHBEARER, PLAIN, JwksConfig, SaslConfig
from kafka_reassign_rpc.security.sasl.scram import CredentialCache
from kafka_reassign_rpc.support.backoff import Backoff
from kafka_reassign_rpc.support.files import Stamp, read_bounded, stamp
from kafka_reassign_rpc.support.secrecy import told_path
from kafka_reassign_rpc.support.tasks import end

log = logging.getLogger(__name__)

LOOKS_EVERY_S = 1.0
"""A file of users is checked so often: a deleted user is unknown after at most this time."""
FETCH_S = 10.0
MOST_JWKS_BYTES = 1 << 20
_NOT_FETCHED = (aiohttp.ClientError, OSError, TimeoutError)
_NO_KEYS = (JoseError, ValueError, TypeError, KeyError, RecursionError)
"""What an issuer's answer can raise while it is read; RecursionError comes of JSON nested a thousand deep."""


class UsersFile:
    def __init__(self, setting: str, path: Path) -> None:
        self._source = f"{setting}: {told_path(path)}"
        self._path = path
        self._seen: Stamp | None = None
        self.users = HashedUsers({})

    def read(self) -> None:
        """Raises BadSetting."""
        seen = stamp(self._path)
        try:
            data = read_bounded(self._path, MOST_BYTES)
        except OSError as error:
            raise BadSetting(f"{self._source}: {str(error.strerror).lower()}") from None
        self.users.replace(parse_users(data, self._source))
        self._seen = seen

    def has_changed(self) -> bool:
        found = stamp(self._path)
        return found is None or found != self._seen

    async def follow(self) -> None:
        """If the file cannot be used, its users stay, and the log says so once."""
        logged = ""
        while True:
            await asyncio.sleep(LOOKS_EVERY_S)
            if not await asyncio.to_thread(self.has_changed):
                continue
            try:
                await asyncio.to_thread(self.read)
                logged = ""
            except BadSetting as error:
                if str(error) != logged:
                    logged = str(error)
                    log.error("the users stay as they were until the file can be read: %s", logged)


class Jwks:
    """The keys of tokens, fetched again after a while, and early for an unknown key."""

    def __init__(self, config: JwksConfig) -> None:
        self._config = config
        self._wanted = asyncio.Event()
        self.keys = TokenKeys(self._wanted.set)

    async def fetch(self) -> None:
        """Raises BadSetting."""
        try:
            data = await self._read()
            keys = await asyncio.to_thread(KeySet.import_key_set, _json(data))
        except (*_NOT_FETCHED, *_NO_KEYS) as error:
            raise BadSetting(f"{self._config.setting}: no keys: {_reason(error)}") from None
        weak = [key.kid for key in keys.keys if is_weak(key)]
        if weak:
            log.warning("tokens of these keys of the JWKS are refused, RSA needs %d bits: %s", LEAST_RSA_BITS, weak)
        self.keys.keys = keys

    async def _read(self) -> bytes:
        url = self._config.url
        if url.startswith("file://"):
            data = await asyncio.to_thread(Path(url.removeprefix("file://")).read_bytes)
        else:
            limits = aiohttp.ClientTimeout(total=FETCH_S)
            async with (
                aiohttp.ClientSession(timeout=limits) as session,
                session.get(url, allow_redirects=False, raise_for_status=True) as answer,
            ):
                data = await answer.content.read(MOST_JWKS_BYTES + 1)
                while len(data) <= MOST_JWKS_BYTES and (more := await answer.content.read(MOST_JWKS_BYTES)):
                    data += more
        if len(data) > MOST_JWKS_BYTES:
            raise ValueError(f"more than {MOST_JWKS_BYTES} bytes")
        return data

    async def follow(self) -> None:
        """Fetches the keys again and again; if that fails, they stay as they are. Unknown key ids, however many and
        whoever sends them, bring no fetch sooner than a failed one would: the wait grows until a fetch brings a new
        key."""
        config = self._config
        backoff = Backoff(config.first_wait_s, config.longest_wait_s)
        failed = False
        while True:
            early = False
            if not failed:
                with suppress(TimeoutError):
                    async with asyncio.timeout(config.refresh_s):
                        early = await self._wanted.wait()
            self._wanted.clear()
            before = self.keys.ids
            try:
                await self.fetch()
            except BadSetting as error:
                if not failed:
                    log.warning("the keys of tokens stay as they were, so tokens of newer keys are refused: %s", error)
                failed = True
            else:
                if failed or not early or self.keys.ids != before:
                    backoff.reset()
                failed = False
            if failed or early:
                await backoff.sleep()


def _reason(error: Exception) -> str:
    """Leaves out the URL, which may hold a secret."""
    if isinstance(error, aiohttp.ClientResponseError):
        return f"status {error.status}"
    return str(error.strerror).lower() if isinstance(error, OSError) and error.strerror else type(error).__name__


def _json(data: bytes) -> Any:
    found = json.loads(data)
    if not isinstance(found, dict) or not isinstance(found.get("keys"), list):
        raise KeyError("keys")
    return found


class SaslSources:
    """The sources of all listeners with SASL, by the listener's name. Whoever reads ZooKeeper fills `credentials`."""

    def __init__(self, configs: Mapping[str, SaslConfig]) -> None:
        self._configs = configs
        self.credentials = CredentialCache()
        files = {one.users_file for one in configs.values() if one.users_file is not None}
        self._files = {place: UsersFile(*place) for place in files}
        self._jwks = {one.jwks: Jwks(one.jwks) for one in configs.values() if one.jwks is not None}
        kerberos = {one.kerberos for one in configs.values() if one.kerberos is not None}
        self._kerberos = {one: KerberosIdentity(one) for one in kerberos}
        self._tasks: list[asyncio.Task[None]] = []

    @property
    def needs_credentials(self) -> bool:
        return any(name in scram.MECHANISMS for one in self._configs.values() for name in one.mechanisms)

    async def start(self) -> None:
        """Raises BadSetting."""
        for file in self._files.values():
            await asyncio.to_thread(file.read)
        for jwks in self._jwks.values():
            await jwks.fetch()
        for identity in self._kerberos.values():
            await identity.load()
        follow = [one.follow() for one in self._files.values()] + [one.follow() for one in self._jwks.values()]
        self._tasks = [asyncio.create_task(one, name="SASL") for one in follow]

    async def close(self) -> None:
        for file in self._files.values():
            file.users.close()
        for identity in self._kerberos.values():
            identity.close()
        await end(*self._tasks)

    def authenticator(self, listener: str) -> MakeAuthenticator:
        config = self._configs[listener]
        settings = SaslSettings(
            mechanisms={name: self._maker(name, config) for name in config.mechanisms},
            max_receive_size=config.max_receive_size,
            max_reauth_ms=config.max_reauth_ms,
        )
        return partial(SaslAuthenticator, settings)

    def _maker(self, mechanism: str, config: SaslConfig) -> MakeSaslServer:
        if mechanism == PLAIN:
            known = PlainPasswords({user: password.value for user, password in config.passwords.items()})
            file = None if config.users_file is None else self._files[config.users_file].users
            return partial(PlainSaslServer, known if file is None else UsersOf(known, file))
        if mechanism == OAUTHBEARER:
            assert config.jwks is not None
            keys = self._jwks[config.jwks].keys
            return lambda _: OAuthBearerSaslServer(keys, config.token_rules)
        if mechanism == GSSAPI:
            assert config.kerberos is not None
            return partial(GssapiSaslServer, self._kerberos[config.kerberos])
        credentials = self.credentials.of(mechanism)
        return lambda _: scram.ScramSaslServer(mechanism, credentials)
