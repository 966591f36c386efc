"""Security protocols by Kafka's names, and which one a listener speaks."""

from kafka_reassign_rpc.core.state.broker import SECURITY_PROTOCOLS
from kafka_reassign_rpc.security.properties import BadSetting
from kafka_reassign_rpc.support.secrecy import told

PROTOCOL_MAP = "listener.security.protocol.map"


def uses_tls(protocol: str) -> bool:
    return protocol.endswith("SSL")


def uses_sasl(protocol: str) -> bool:
    return protocol.startswith("SASL")


def protocol_named(text: str, setting: str) -> str:
    """Raises BadSetting."""
    found = text.strip().upper()
    if found not in SECURITY_PROTOCOLS:
        raise BadSetting(f"{setting}: expected one of {', '.join(SECURITY_PROTOCOLS)}, got {told(text)}")
    return found


def protocols_of_listeners(text: str) -> dict[str, str]:
    """`NAME:PROTOCOL,…`, the value of PROTOCOL_MAP, with names in capitals. Raises BadSetting."""
    found: dict[str, str] = {}
    for part in filter(None, map(str.strip, text.split(","))):
        name, _, protocol = (word.strip().upper() for word in part.partition(":"))
        if not name or protocol not in SECURITY_PROTOCOLS:
            known = ", ".join(SECURITY_PROTOCOLS)
            raise BadSetting(f"{PROTOCOL_MAP}: expected NAME:PROTOCOL with one of {known}, got {told(part)}")
        if name in found:
            raise BadSetting(f"{PROTOCOL_MAP}: {name} is there twice")
        found[name] = protocol
    return found
